import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Calls native functions of the JDK as often as lines of stdin say: "throw N" (Throwable.fillInStackTrace), "threads N EACH" (the same
 *  in threads that start for it), "large N" (objects of more than half a region of G1), "clock N" (System.nanoTime). */
public class NativeCalls {
    static volatile Object sink;

    static void fail(int n) {
        for (int i = 0; i < n; i++) sink = new Exception();
    }

    static void large(int n) {
        for (int i = 0; i < n; i++) sink = new byte[700_000];
    }

    static void clock(int n) {
        for (int i = 0; i < n; i++) sink = System.nanoTime();
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;) {
            String[] w = line.split(" ");
            int n = Integer.parseInt(w[1]);
            if (w[0].equals("throw")) fail(n);
            else if (w[0].equals("large")) large(n);
            else if (w[0].equals("clock")) clock(n);
            else if (w[0].equals("threads"))
                for (int i = 0; i < n; i++) {
                    Thread t = new Thread(() -> fail(Integer.parseInt(w[2])), "late-" + i);
                    t.start();
                    t.join();
                }
            System.out.println("did " + line);
        }
    }
}
