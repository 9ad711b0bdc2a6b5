import io.github.sparkprof.Sparkprof;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Calls sparkprof's API as lines of stdin say: "execute WORDS" (prints "= RESULT" or "! CLASS: MESSAGE"), "work MS TAG" (computes, in
 *  a span), "many COUNT TAG" (as many spans, one after the other); then "did NUMBER". */
public class Api {
    static volatile long sink;

    static void compute(long ms) {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        long end = bean.getCurrentThreadCpuTime() + ms * 1_000_000;
        while (bean.getCurrentThreadCpuTime() < end)
            for (int i = 0; i < 100_000; i++) sink += sink * 31 + 7;
    }

    /** -javaagent: before the JVM has begun; its words are a command. */
    public static void premain(String words) throws Exception {
        Sparkprof.execute(words);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        int done = 0;
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;) {
            String[] w = line.split(" ", 3);
            if (w[0].equals("execute")) {
                try {
                    System.out.println("= " + Sparkprof.execute(line.substring(8)));
                } catch (Exception e) {
                    System.out.println("! " + e);
                }
            } else if (w[0].equals("work")) {
                try (Sparkprof.Span span = Sparkprof.span(w[2])) {
                    compute(Long.parseLong(w[1]));
                }
            } else if (w[0].equals("many")) {
                for (int i = 0; i < Integer.parseInt(w[1]); i++) Sparkprof.span(w[2]).close();
            }
            System.out.println("did " + ++done);
        }
    }
}
