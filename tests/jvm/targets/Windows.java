import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Computes between two native functions, inside(), and then beyond them, outside(), each for so many ms of CPU time, as often as a line
 *  of stdin says: "rounds N MS", each round in a thread that starts for it. "beside" computes all the time. */
public class Windows {
    static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    static volatile long sink;

    static void compute(long ns) {
        for (long end = threads.getCurrentThreadCpuTime() + ns; threads.getCurrentThreadCpuTime() < end;)
            for (int i = 0; i < 10000; i++) sink += i;
    }

    static void inside(int ms) { compute(ms * 1000000L); }

    static void outside(int ms) { compute(ms * 1000000L); }

    static void round(int ms) {
        Runtime.getRuntime().totalMemory(); // begins
        inside(ms);
        Runtime.getRuntime().maxMemory(); // ends
        outside(ms);
    }

    public static void main(String[] args) throws Exception {
        Thread beside = new Thread(() -> { while (true) compute(1000000000L); }, "beside");
        beside.setDaemon(true);
        beside.start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;) {
            String[] w = line.split(" ");
            for (int i = 0; i < Integer.parseInt(w[1]); i++) {
                Thread t = new Thread(() -> round(Integer.parseInt(w[2])), "round");
                t.start();
                t.join();
            }
            System.out.println("did " + line);
        }
    }
}
