/** Calls native methods of a library without unwind tables by turns, from a shallow frame, and leaves traces of deeper calls
 *  where their frames will be. Arguments: library, seconds of CPU time, or of a sleeping thread with "sleep". */
import java.lang.management.ManagementFactory;

public class NoTables {
    static native long nested(long n);
    static native long framed(long n);
    static native long stale(long n);
    static native long planted(long n);
    static native long clobbered(long n);
    static native long sleep(long ns);

    static long sink;

    static void deep(int n) {
        if (n > 0)
            deep(n - 1);
        else
            sink += stale(100) + nested(100);
    }

    static void shallow() {
        long n = 300_000;
        deep(20);
        sink += nested(n);
        deep(20);
        sink += framed(n);
        deep(20);
        sink += stale(n);
        deep(20);
        sink += planted(n);
        deep(20);
        sink += clobbered(n);
    }

    static void sleepy(double seconds) {
        for (long end = System.nanoTime() + (long) (seconds * 1e9); System.nanoTime() < end;)
            sleep(100_000_000);
    }

    public static void main(String[] args) {
        System.load(args[0]);
        double seconds = Double.parseDouble(args[1]);
        System.out.println("ready");
        if (args.length > 2) {
            sleepy(seconds);
            return;
        }
        var clock = ManagementFactory.getThreadMXBean();
        while (clock.getCurrentThreadCpuTime() < seconds * 1e9)
            shallow();
    }
}
