/** Has the collector work for a while, again and again, and says for how long it did by its own count. */
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

public class Collects {
    static Object[] live;

    public static void main(String[] args) throws Exception {
        long ms = 0;

        live = new Object[1 << 20];
        for (int i = 0; i < live.length; i++)
            live[i] = new Object[] {new long[4], live[i / 2]};
        System.out.println("ready");
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            System.gc();
            Thread.sleep(200);
        }
        for (GarbageCollectorMXBean b : ManagementFactory.getGarbageCollectorMXBeans())
            ms += b.getCollectionTime();
        System.out.println("collected " + ms);
    }
}
