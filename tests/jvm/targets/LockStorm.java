import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Eight threads that take one monitor from each other as fast as they can, for so many seconds on each line of stdin; then says
 *  how many ms the JVM itself has counted them as blocked, and how often. */
public class LockStorm {
    static final Object monitor = new Object();
    static final ThreadMXBean beans = ManagementFactory.getThreadMXBean();
    static long x;

    static void fight(long end) {
        while (System.nanoTime() < end)
            synchronized (monitor) {
                for (int i = 0; i < 300; i++) x = x * 31 + i;
                Thread.yield(); // with the monitor: whoever gets the core finds it taken
            }
    }

    public static void main(String[] args) throws Exception {
        beans.setThreadContentionMonitoringEnabled(true);
        System.out.println("ready");
        for (int c; (c = System.in.read()) >= 0;) {
            if (c < '0' || c > '9') continue;
            long end = System.nanoTime() + (c - '0') * 1_000_000_000L;
            long[] sums = new long[2];
            Thread[] threads = new Thread[8];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(() -> {
                    fight(end);
                    java.lang.management.ThreadInfo me = beans.getThreadInfo(Thread.currentThread().getId());
                    synchronized (sums) {
                        sums[0] += me.getBlockedTime();
                        sums[1] += me.getBlockedCount();
                    }
                });
                threads[i].start();
            }
            for (Thread t : threads) t.join();
            System.out.println("blocked " + sums[0] + " times " + sums[1]);
        }
    }
}
