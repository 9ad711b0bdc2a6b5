/** Gives the compilers the same methods again and again, each time of a class that is loaded anew; the old ones are unloaded. To be run with
 * compileonly of Compiles$Body: Compiles ROUNDS. */
import java.net.URL;
import java.net.URLClassLoader;

public class Compiles {
    public static class Body implements Runnable {
        static volatile int sink;

        static int mixed(int[] a, int n) {
            int x = n;
            for (int i = 0; i < a.length; i++) {
                for (int k = 0; k < 4; k++)
                    x += a[i] * k ^ (x >>> 3);
                switch (x & 7) {
                    case 0: x ^= other(a, i); break;
                    case 1: x += a[(x >>> 1) % a.length & 63]; break;
                    case 2: x -= Integer.bitCount(x); break;
                    case 3: x *= 31; break;
                    case 4: x = Integer.rotateLeft(x, 5) + other(a, i + 1); break;
                    default: x++;
                }
            }
            return x;
        }

        static int other(int[] a, int i) {
            int y = 0;
            for (int k = 0; k < 8; k++)
                y = y * 17 + a[i + k & 63];
            return y;
        }

        @Override public void run() {
            int[] a = new int[64];
            for (int i = 0; i < 12000; i++)
                sink += mixed(a, i);
        }
    }

    public static void main(String[] args) throws Exception {
        URL[] here = {Compiles.class.getProtectionDomain().getCodeSource().getLocation()};

        System.out.println("ready");
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            try (URLClassLoader loader = new URLClassLoader(here, null)) {
                ((Runnable) loader.loadClass("Compiles$Body").getDeclaredConstructor().newInstance()).run();
            }
            if (i % 8 == 7)
                System.gc();
        }
        System.out.println("done");
    }
}
