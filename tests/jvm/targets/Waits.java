/** Threads that do one thing each for the given time: spin, sleep, wait for a monitor, park, read a socket. What Spinners says of those. */
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

public class Waits {
    static final Object MONITOR = new Object();
    static final AtomicLong BEGAN = new AtomicLong();
    static volatile boolean done;
    static long sink;

    static void start(String name, Runnable r) {
        Thread t = new Thread(() -> {
            BEGAN.accumulateAndGet(System.nanoTime(), Math::max);
            r.run();
        }, name);
        t.setDaemon(true);
        t.start();
    }

    static void sleeping() {
        while (!done)
            try {
                Thread.sleep(30);
            } catch (InterruptedException e) {
                return;
            }
    }

    static void locked() {
        synchronized (MONITOR) {
            sink++;
        }
    }

    static void parked() {
        while (!done)
            LockSupport.park();
    }

    static void reading(Socket s) {
        try {
            s.getInputStream().read();
        } catch (Exception e) {
            sink++;
        }
    }

    public static void main(String[] args) throws Exception {
        ServerSocket server = new ServerSocket(0);
        Socket client = new Socket("localhost", server.getLocalPort());
        Spinners[] spinners = new Spinners[Integer.parseInt(args[1])];
        Spinners.load();
        Spinners.begun = true;
        long first = System.nanoTime();
        Thread.currentThread().setName("owner");
        synchronized (MONITOR) {
            for (int i = 0; i < spinners.length; i++)
                spinners[i] = new Spinners(i);
            start("sleeper", Waits::sleeping);
            start("locker", Waits::locked);
            start("parker", Waits::parked);
            start("reader", () -> reading(client));
            System.out.println("ready");
            Thread.sleep((long) (Double.parseDouble(args[0]) * 1000));
        }
        done = true;
        Spinners.end(spinners);
        System.out.println("began " + (BEGAN.get() - first)); // nanoseconds after the first, the last of them
        Thread.sleep(300);
    }
}
