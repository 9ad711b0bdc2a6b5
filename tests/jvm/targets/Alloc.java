import java.lang.management.ManagementFactory;

/** Allocates a known split of bytes by three callers: 70, 20 and 10 percent; as fast as it can, or, with "paced", at most a
 *  megabyte in 5 ms. With "beside" so as well, another thread allocates, too, and at the end the main thread says how many bytes it
 *  has allocated itself. */
public class Alloc {
    static Object sink;

    static final class Small {
        long a, b;
    }

    static void seventy(int n) {
        for (int i = 0; i < n; i++) sink = new byte[7 * 1024 - 16];
    }

    static void twenty(int n) {
        for (int i = 0; i < n; i++) sink = new long[(2 * 1024 - 16) / 8];
    }

    /** 1,024 bytes in objects of 32 (header 12 or 16, two longs: 32 with padding at most). */
    static void ten(int n) {
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 32; k++) sink = new Small();
    }

    static void pause() {
        try {
            Thread.sleep(5);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void beside() {
        for (;;) {
            seventy(40);
            pause();
        }
    }

    static long mine() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean())
            .getThreadAllocatedBytes(Thread.currentThread().getId());
    }

    public static void main(String[] args) throws Exception {
        long seconds = Long.parseLong(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        boolean paced = args.length > 1, beside = paced && args[1].equals("beside");
        if (beside) {
            Thread t = new Thread(Alloc::beside, "beside");
            t.setDaemon(true);
            t.start();
        }
        System.out.println("ready");
        while (System.nanoTime() < end) {
            seventy(100);
            twenty(100);
            ten(100);
            if (paced) pause();
        }
        if (beside) System.out.println("mine " + mine());
        System.out.println("done");
    }
}
