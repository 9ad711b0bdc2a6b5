/** Defines the same class over and over in loaders of its own, calls it until it is compiled, and lets it go. */
import java.io.InputStream;
import java.util.function.LongUnaryOperator;

public class Unload {
    public static class Generated implements LongUnaryOperator {
        public long applyAsLong(long n) {
            return twice(n) + Split.spin(n);
        }

        static long twice(long n) {
            return Split.spin(n) + Split.spin(n + 1);
        }
    }

    static class Loader extends ClassLoader {
        final byte[] bytes;

        Loader(byte[] bytes) {
            super(Unload.class.getClassLoader());
            this.bytes = bytes;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            return name.equals("Unload$Generated") ? findOwn(name) : super.loadClass(name, resolve);
        }

        Class<?> findOwn(String name) {
            Class<?> c = findLoadedClass(name);
            return c != null ? c : defineClass(name, bytes, 0, bytes.length);
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] bytes;
        try (InputStream in = Unload.class.getResourceAsStream("Unload$Generated.class")) {
            bytes = in.readAllBytes();
        }
        System.out.println("ready");
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9), sink = 0;
        int n = 0;
        while (System.nanoTime() < end || n < 60) { // a busy machine gets its collections, too
            Class<?> c = new Loader(bytes).loadClass("Unload$Generated");
            LongUnaryOperator op = (LongUnaryOperator) c.getDeclaredConstructor().newInstance();
            for (int i = 0; i < 3000; i++)
                sink += op.applyAsLong(i);
            if (++n % 20 == 0)
                System.gc();
        }
        System.out.println("classes " + n + " " + sink);
    }
}
