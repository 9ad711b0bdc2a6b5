/** Starts a thread each millisecond; each runs for about two milliseconds of CPU in Churn.work. */
public class Churn {
    static volatile long sink;

    static void work() {
        while (Split.CLOCK.getCurrentThreadCpuTime() < 2_000_000)
            sink += Split.spin(1);
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        int n = 0;
        while (System.nanoTime() < end || n < 100 * Double.parseDouble(args[0])) { // on a busy machine, too
            Thread t = new Thread(Churn::work, "churn-" + n++);
            t.setDaemon(true);
            t.start();
            Thread.sleep(1);
        }
        System.out.println("started " + n);
    }
}
