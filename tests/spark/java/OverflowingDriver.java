import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.sql.SparkSession;

/**
 * A driver whose plans are too deep: again and again threads of the default stack size, which end after it, run into a
 * StackOverflowError in Catalyst and survive it, as servers do that plan each query in a thread of its own; then threads with
 * smaller stacks, as Netty's and gateways' are. Prints "ready", then "overflows N".
 */
public class OverflowingDriver {
    static final AtomicInteger overflows = new AtomicInteger();
    static SparkSession spark;
    static String deep;

    static void plan() {
        try {
            spark.sql(deep).queryExecution().optimizedPlan();
            System.out.println("no overflow");
        } catch (Throwable e) {
            for (Throwable t = e; t != null; t = t.getCause())
                if (t instanceof StackOverflowError || String.valueOf(t.getMessage()).contains("TOO_COMPLEX")) {
                    overflows.incrementAndGet();
                    return;
                }
            System.out.println("other " + e);
        }
    }

    static void sleepABit() {
        try {
            Thread.sleep(20);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static void run(Runnable r, long stackSize) throws Exception {
        Thread[] threads = new Thread[12];

        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(null, r, "worker-" + i, stackSize);
            threads[i].start();
        }
        for (Thread t : threads)
            t.join();
    }

    public static void main(String[] args) throws Exception {
        spark = SparkSession.builder().master("local[2]").appName("overflowing").config("spark.ui.enabled", "false")
                .config("spark.driver.bindAddress", "127.0.0.1").getOrCreate();
        deep = "select " + "abs(".repeat(3000) + "1" + ")".repeat(3000);
        plan();
        System.out.println("ready");
        for (;;) {
            run(OverflowingDriver::plan, 0);
            run(OverflowingDriver::sleepABit, 300000);
            System.out.println("overflows " + overflows.get());
        }
    }
}
