/** Threads that do one thing each for the given time: spin, sleep, wait for a monitor, park, read a socket. */
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

public class Waits {
    static final Object MONITOR = new Object();
    static volatile boolean done;
    static long sink;

    static void start(String name, Runnable r) {
        Thread t = new Thread(r, name);
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

    static void spinning() {
        while (!done)
            sink += Split.spin(1);
        try { // nanoseconds it ran, and waited for a CPU
            System.out.println(Thread.currentThread().getName() + " "
                + Files.readString(Path.of("/proc/thread-self/schedstat")).trim());
        } catch (Exception e) {
            System.out.println(e);
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
        Thread.currentThread().setName("owner");
        synchronized (MONITOR) {
            for (int i = 0; i < Integer.parseInt(args[1]); i++)
                start("spinner-" + i, Waits::spinning);
            start("sleeper", Waits::sleeping);
            start("locker", Waits::locked);
            start("parker", Waits::parked);
            start("reader", () -> reading(client));
            System.out.println("ready");
            Thread.sleep((long) (Double.parseDouble(args[0]) * 1000));
        }
        done = true;
        Thread.sleep(300);
    }
}
