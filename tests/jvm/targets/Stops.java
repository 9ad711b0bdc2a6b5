import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Two threads that compute: "counted" has no safepoint in its loops (with -XX:-UseCountedLoopSafepoints), "polite" has one in each
 *  round. On each line of stdin garbage is collected so many times, each when "counted" has just begun; then it prints "tick" and the line. */
public class Stops {
    static volatile long rounds;
    static volatile int sink;

    static int counted(int[] a) {
        int sum = 0;
        for (int k = 0; k < 2000; k++)
            for (int i = 0; i < a.length; i++)
                sum = sum * 31 + a[i];
        return sum;
    }

    static void polite() {
        for (long i = 0; ; i++) sink = (int) i;
    }

    static Thread start(Runnable r, String name) {
        Thread t = new Thread(r, name);
        t.setDaemon(true);
        t.start();
        return t;
    }

    public static void main(String[] args) throws Exception {
        int[] a = new int[20000];
        start(() -> { while (true) { sink = counted(a); rounds++; } }, "counting");
        start(Stops::polite, "polite");
        while (rounds < 20) Thread.sleep(1);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (int line = 0; in.readLine() != null;) {
            for (int i = 0; i < Integer.parseInt(args[0]); i++) {
                for (long r = rounds; rounds == r;) Thread.sleep(1);
                System.gc();
                Thread.sleep(10); // into a round: "polite" runs beside the rest of it
            }
            System.out.println("tick " + ++line);
        }
    }
}
