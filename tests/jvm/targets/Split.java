/** Three methods that take 50, 30 and 20 % of a thread's CPU time, by the thread's own clock. */
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.ThreadLocalRandom;

public class Split {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static long sink;

    public static long spin(long n) {
        long x = n;
        for (int i = 0; i < 2000; i++)
            x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    /** About a millisecond, each time another: CPU timers tick with the kernel, every 4 ms on many machines. */
    static long part() {
        return 500_000 + ThreadLocalRandom.current().nextLong(1_000_000);
    }

    static void half(long until) {
        while (CLOCK.getCurrentThreadCpuTime() < until)
            for (int i = 0; i < 50; i++)
                sink += spin(i);
    }

    static void third(long until) {
        while (CLOCK.getCurrentThreadCpuTime() < until)
            for (int i = 0; i < 50; i++)
                sink += spin(i);
    }

    static void fifth(long until) {
        while (CLOCK.getCurrentThreadCpuTime() < until)
            for (int i = 0; i < 50; i++)
                sink += spin(i);
    }

    public static void main(String[] args) throws Exception {
        double seconds = Double.parseDouble(args[0]);
        System.out.println("ready");
        long at = CLOCK.getCurrentThreadCpuTime();
        long end = at + (long) (seconds * 1e9); // of CPU time: as many samples on a busy machine
        while (at < end) {
            long part = part();
            half(at += 5 * part);
            third(at += 3 * part);
            fifth(at += 2 * part);
        }
        System.out.println("done " + CLOCK.getCurrentThreadCpuTime());
    }
}
