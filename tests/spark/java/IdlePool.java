import org.sparkproject.jetty.util.thread.QueuedThreadPool;

/** A pool as Spark's web pages have one, whose threads give up waiting for work every 300 ms. Ends with its standard input. */
public class IdlePool {
    public static void main(String[] args) throws Exception {
        QueuedThreadPool pool = new QueuedThreadPool(8, 2, 300);
        pool.start();
        pool.execute(() -> System.out.println("ready"));
        while (System.in.read() >= 0)
            pool.execute(() -> System.out.println("did it"));
        pool.stop();
    }
}
