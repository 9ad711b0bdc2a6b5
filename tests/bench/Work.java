import java.util.concurrent.locks.LockSupport;

/**
 * A thread "worker" that does units of fixed work at the bottom of a recursion, and many threads that wait. Arguments: depth, idle
 * threads. On each line of its standard input it prints "units N": how many were done so far.
 */
public class Work {
    static final long[] TABLE = new long[4096];
    static volatile long units;
    static volatile long sink;

    /** About half a millisecond of arithmetic over 32 KiB. */
    static long unit(long x) {
        for (int i = 0; i < 100_000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
            TABLE[(int) (x >>> 52)] += x;
        }
        return x;
    }

    static void forever() {
        long x = 1;
        for (;;) {
            x = unit(x);
            sink = x;
            units = units + 1;
        }
    }

    /** Two branches, so that no compiler folds the levels into one frame. */
    static int down(int depth) {
        if (depth <= 0) {
            forever();
            return 0;
        }
        return (depth & 1) == 0 ? even(depth) : odd(depth);
    }

    static int even(int depth) {
        return down(depth - 1) + 1;
    }

    static int odd(int depth) {
        return down(depth - 1) + 3;
    }

    public static void main(String[] args) throws Exception {
        int depth = Integer.parseInt(args[0]), idle = Integer.parseInt(args[1]);
        for (int i = 0; i < 2_000; i++)
            sink += unit(i) & 1;
        for (int i = 0; i < idle; i++) {
            Thread t = new Thread(null, () -> {
                for (;;)
                    LockSupport.park();
            }, "idler-" + i, 128 << 10);
            t.setDaemon(true);
            t.start();
        }
        Thread t = new Thread(null, () -> down(depth / 2), "worker", 16 << 20);
        t.setDaemon(true);
        t.start();
        System.out.println("ready");
        int asked = 0;
        for (int c; (c = System.in.read()) >= 0;)
            if (c == '\n')
                System.out.println("units " + ++asked + " " + units);
    }
}
