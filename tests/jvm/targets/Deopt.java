import java.util.Arrays;

/** Code that is compiled, deoptimised and compiled again all the time: each round loads this class once more, makes its loop hot, and then sends
 *  objects of other classes through it. Argument: seconds. */
public class Deopt {
    static long sink;

    static int hot(Object[] a, int n) {
        int s = 0;
        for (int i = 0; i < n; i++)
            s += middle(a[i & 7], i);
        return s;
    }

    static int middle(Object o, int i) {
        return leaf(o, i) + 1;
    }

    static int leaf(Object o, int i) {
        if (o instanceof Integer)
            return i;
        if (o instanceof String)
            return i * 3 + o.hashCode();
        return o.toString().length();
    }

    static void round() {
        Object[] a = new Object[8];
        Arrays.fill(a, 1);
        for (int i = 0; i < 300; i++)
            sink += hot(a, 2000);
        a[3] = "x";
        for (int i = 0; i < 60; i++)
            sink += hot(a, 2000);
        a[5] = new StringBuilder("q");
        for (int i = 0; i < 60; i++)
            sink += hot(a, 2000);
    }

    public static void main(String[] args) throws Exception {
        byte[] self = Deopt.class.getResourceAsStream("Deopt.class").readAllBytes();
        long most = (long) (Double.parseDouble(args[0]) * 1e9), end = System.nanoTime() + most;
        System.out.println("ready");
        while (System.nanoTime() < end || Split.CLOCK.getCurrentThreadCpuTime() < most / 4) { // on a busy machine, too
            Class<?> again = new ClassLoader(null) {
                @Override
                protected Class<?> findClass(String name) {
                    return defineClass(name, self, 0, self.length);
                }
            }.loadClass("Deopt");
            var round = again.getDeclaredMethod("round");
            round.setAccessible(true);
            round.invoke(null);
        }
    }
}
