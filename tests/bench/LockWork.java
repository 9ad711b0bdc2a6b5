import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Four threads that do nothing but take one lock from each other, a monitor and a ReentrantLock in turns, with a little work inside. On
 * each line of its standard input it prints "units N": how often a lock was taken so far.
 */
public class LockWork {
    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static final LongAdder units = new LongAdder();
    static long x;

    static void inside() {
        for (int i = 0; i < 2_000; i++)
            x = x * 6364136223846793005L + 1442695040888963407L;
    }

    static void forever() {
        for (;;) {
            synchronized (monitor) {
                inside();
            }
            lock.lock();
            try {
                inside();
            } finally {
                lock.unlock();
            }
            units.add(2);
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 4; i++) {
            Thread t = new Thread(LockWork::forever, "worker-" + i);
            t.setDaemon(true);
            t.start();
        }
        System.out.println("ready");
        while (System.in.read() >= 0)
            System.out.println("units " + units.sum());
    }
}
