import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;

/** Calls methods of every shape as often as each line of standard input says, and prints what they computed, which must not
 *  depend on who looks, and the microseconds that the timed ones took. "hidden" loads a class that cannot see sparkprof's. */
public class Calls {
    static final Map<String, Long> took = new HashMap<>();
    final long state;

    Calls(long state) {
        if (state < 0) throw new IllegalArgumentException("negative");
        this.state = state;
    }

    static int counted(int n) {
        return n + 1;
    }

    /** Begins with the head of its loop; long and double take two places each. */
    static long mixed(long a, double b, String s, int[] c) {
        do {
            a += (long) b + s.length() + c[0];
            for (long k = 0; k < 2; k++) {
                double d = b + k;
                String t = s + k;
                a += (long) d + t.length();
            }
        } while (--c[0] > 0);
        return a;
    }

    synchronized int locked(int n) {
        synchronized (took) {
            return n % 3 == 0 ? n : recurse(n % 5);
        }
    }

    int recurse(int n) {
        return n == 0 ? 1 : n * recurse(n - 1);
    }

    static int switched(int n) {
        switch (n % 7) {
            case 0: return 1;
            case 1: return 3;
            case 2: n += 5; break;
            default: n -= 1;
        }
        switch (n) {
            case 1000000: return n;
            case -5: return 7;
            default: return n + 2;
        }
    }

    static int thrown(int n) {
        try {
            if (n % 2 == 0) throw new IllegalStateException("even");
            return n;
        } finally {
            took.remove("nothing");
        }
    }

    static native int without();

    abstract static class Shape {
        abstract int area();
    }

    /** Not loaded before it is needed. */
    static class Later extends Shape {
        int area() {
            return 4;
        }
    }

    /** Four of one name. */
    static class Over {
        static long over(int n) {
            return n + 5;
        }

        static long over(String s) {
            return s.length();
        }

        static long over(int n, String... s) {
            return n + over(s[0]);
        }

        long over(long[][] n, Over o) {
            return n.length + over("ab");
        }
    }

    static class Hidden {
        static int area() {
            return 9;
        }
    }

    static void timedLong() throws Exception {
        Thread.sleep(5);
    }

    static void timedShort() {
        Thread.yield();
    }

    static long sum(int rounds) {
        Calls c = new Calls(7);
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += counted(i) + mixed(i, i / 3.0, "abc", new int[] {i % 4}) + c.locked(i) + switched(i) + new Calls(i).state;
            try {
                sum += thrown(i);
            } catch (IllegalStateException e) {
                sum += 11;
            }
            try {
                new Calls(-1);
            } catch (IllegalArgumentException e) {
                sum += 13;
            }
            sum += new Later().area() + Over.over(i) + Over.over(i, "a");
            sum += new Over().over(new long[3][2], null);
        }
        return sum;
    }

    static void timed() throws Exception {
        for (int i = 0; i < 10; i++) {
            long from = System.nanoTime();
            timedLong();
            took.merge("timedLong", System.nanoTime() - from, Long::sum);
            timedShort();
        }
    }

    static int hidden() throws Exception {
        byte[] bytes;
        try (InputStream in = Calls.class.getResourceAsStream("Calls$Hidden.class")) {
            bytes = in.readAllBytes();
        }
        ClassLoader loader = new ClassLoader(null) {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                if (name.startsWith("sparkprof")) throw new ClassNotFoundException(name);
                if (name.equals("Calls$Hidden") && findLoadedClass(name) == null)
                    return defineClass(name, bytes, 0, bytes.length);
                return super.loadClass(name, resolve);
            }
        };
        java.lang.reflect.Method area = loader.loadClass("Calls$Hidden").getDeclaredMethod("area");
        area.setAccessible(true);
        return (int) area.invoke(null);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;) {
            took.clear();
            if (line.equals("hidden")) {
                System.out.println("hidden " + hidden());
                continue;
            }
            System.out.println("sum " + sum(Integer.parseInt(line)));
            timed();
            System.out.println("took " + took.get("timedLong") / 1000);
            System.out.println("done");
        }
    }
}
