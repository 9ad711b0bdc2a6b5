/** Starts a thread each millisecond; each runs for about two milliseconds of CPU in Churn.work. */
public class Churn {
    static volatile long sink;

    static void work() {
        long end = System.nanoTime() + 2_000_000;
        while (System.nanoTime() < end)
            sink += Split.spin(1);
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        int n = 0;
        while (System.nanoTime() < end) {
            Thread t = new Thread(Churn::work, "churn-" + n++);
            t.setDaemon(true);
            t.start();
            Thread.sleep(1);
        }
        System.out.println("started " + n);
    }
}
