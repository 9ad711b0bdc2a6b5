/** Starts as many threads as a line says, two at a time; each uses some milliseconds of CPU time by its own clock, and ends. Then
 *  it says how much all of them have used. */
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicLong;

public class Brief {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static final AtomicLong used = new AtomicLong();
    static long sink;

    static void burn(long ns) {
        while (CLOCK.getCurrentThreadCpuTime() < ns)
            sink += Split.spin(50);
        used.addAndGet(CLOCK.getCurrentThreadCpuTime());
    }

    public static void main(String[] args) throws Exception {
        long each = Long.parseLong(args[0]) * 1000000;
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        for (int turn = 1; in.hasNextLine(); turn++) {
            int n = Integer.parseInt(in.nextLine());
            used.set(0);
            for (int i = 0; i < n; i += 2) {
                Thread a = new Thread(() -> burn(each), "brief"), b = new Thread(() -> burn(each), "brief");
                a.start();
                b.start();
                a.join();
                b.join();
            }
            System.out.println("turn " + turn + ": " + used.get() + ".");
        }
    }
}
