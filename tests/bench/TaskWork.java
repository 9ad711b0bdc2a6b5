import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.HashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;

/**
 * Tasks of the kinds an executor has (arithmetic, strings, a hash table, a sort, a shared lock) in a pool of two threads, among 60
 * threads that wait. Numbers, as arguments or else one by one on stdin: does so many, and says how many nanoseconds of CPU the
 * pool's threads took for them.
 */
public class TaskWork {
    static final Object LOCK = new Object();
    static final AtomicLong POOL = new AtomicLong();
    static long sum;

    static long work(int n) {
        HashMap<String, Integer> counts = new HashMap<>();
        long[] values = new long[4000];
        long x = n;
        for (int i = 0; i < values.length; i++) {
            for (int k = 0; k < 40; k++)
                x = x * 6364136223846793005L + 1442695040888963407L;
            values[i] = x;
            counts.merge("key-" + (x >>> 54), 1, Integer::sum);
        }
        Arrays.sort(values);
        synchronized (LOCK) {
            sum += values[0] + counts.size();
        }
        return sum;
    }

    static void run(ExecutorService pool, int tasks) throws Exception {
        List<Future<?>> all = new ArrayList<>();
        for (int t = 0; t < 2; t++) {
            int first = t;
            all.add(pool.submit(() -> {
                long begun = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
                for (int i = first; i < tasks; i += 2)
                    work(i);
                POOL.addAndGet(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begun);
            }));
        }
        for (Future<?> f : all)
            f.get();
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        for (int i = 0; i < 60; i++) {
            Thread t = new Thread(null, LockSupport::park, "idler-" + i, 128 << 10);
            t.setDaemon(true);
            t.start();
        }
        Scanner in = args.length > 0 ? new Scanner(String.join(" ", args)) : new Scanner(System.in);
        while (in.hasNextInt()) {
            POOL.set(0);
            run(pool, in.nextInt());
            System.out.println("cpu " + POOL.get());
        }
        pool.shutdown();
    }
}
