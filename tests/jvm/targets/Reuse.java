import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.LongUnaryOperator;

/** A class and the same one under other names, in loaders of their own that are let go at once: each comes to lie where the
 *  other one lay. Which of them runs shows in the caller. */
public class Reuse {
    public static class One implements LongUnaryOperator {
        public long applyAsLong(long n) { return oneStep(n); }
        static long oneStep(long n) { for (int i = 0; i < 300; i++) n += i; return n; }
    }

    static class Loader extends ClassLoader {
        LongUnaryOperator make(String name) throws Exception {
            try (InputStream in = Reuse.class.getResourceAsStream("Reuse$One.class")) {
                String text = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
                if (!name.endsWith("One"))
                    text = text.replace("Reuse$One", name).replace("oneStep", "twoStep");
                byte[] b = text.getBytes(StandardCharsets.ISO_8859_1);
                return (LongUnaryOperator) defineClass(name, b, 0, b.length).getDeclaredConstructor().newInstance();
            }
        }
    }

    static long runOne(LongUnaryOperator op, long end) { long x = 0; while (System.nanoTime() < end) x = op.applyAsLong(x); return x; }
    static long runTwo(LongUnaryOperator op, long end) { long x = 0; while (System.nanoTime() < end) x = op.applyAsLong(x); return x; }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9), turn = 600_000_000;
        System.out.println("ready");
        while (System.nanoTime() < end || Split.CLOCK.getCurrentThreadCpuTime() < 1_000_000_000) { // on a busy machine, too
            runOne(new Loader().make("Reuse$One"), System.nanoTime() + turn);
            System.gc();
            runTwo(new Loader().make("Reuse$Two"), System.nanoTime() + turn);
            System.gc();
        }
    }
}
