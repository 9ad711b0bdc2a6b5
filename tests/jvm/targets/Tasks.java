import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Short "tasks" on a pool, renamed as Spark's executors rename theirs; what a task runs tells its stage. Arguments: how many, how
 *  many milliseconds each, and "idle" for the names between tasks of Spark 4.2 and later. Prints for each task its id and when it
 *  began and ended by the clock that recordings use. */
public class Tasks {
    static volatile long sink;

    static void even(long end) {
        while (System.nanoTime() < end)
            sink += Split.spin(1);
    }

    static void odd(long end) {
        while (System.nanoTime() < end)
            sink += Split.spin(1);
    }

    static synchronized void say(int id, long begin, long end) {
        System.out.println("task " + id + " " + begin + " " + end);
    }

    static void task(int id, long millis, boolean idle) {
        Thread me = Thread.currentThread();
        long begin = System.nanoTime();
        me.setName("Executor task launch worker for task " + id / 2 + ".0 in stage " + id % 2 + ".0 (TID " + id + ")");
        if (id % 2 == 0)
            even(begin + millis * 1_000_000);
        else
            odd(begin + millis * 1_000_000);
        long end = System.nanoTime();
        if (idle)
            me.setName("Executor task idle worker#" + me.getId());
        say(id, begin, end);
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        long millis = Long.parseLong(args[1]);
        boolean idle = args.length > 2 && args[2].equals("idle");
        ExecutorService pool = Executors.newCachedThreadPool();
        System.out.println("ready");
        if (args.length > 2 && args[args.length - 1].equals("wait"))
            System.in.read();
        for (int i = 0; i < count; i += 2) {
            List<Future<?>> both = new ArrayList<>();
            for (int k = i; k < i + 2; k++) {
                int id = k;
                both.add(pool.submit(() -> task(id, millis, idle)));
            }
            for (Future<?> f : both)
                f.get();
            Thread.sleep(i % 8 == 0 ? 20 : 1);
        }
        pool.shutdown();
    }
}
