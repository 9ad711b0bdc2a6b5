import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;

/**
 * Loads as many classes as an executor has (argument: how many, 12000), then spins in one thread and keeps the longest time
 * between two looks at the clock. On its standard input: "reset" forgets it, "gap" prints it in nanoseconds.
 */
public class ManyClasses {
    private static final int METHODS = 8;
    private static final int FIRST_NAME = 7; // in the constant pool, after class, super, Code and (I)I
    private static volatile long longest;
    private static volatile boolean reset;

    /** Each class with methods of its own names, as real code has them. */
    private static byte[] classFile(String name) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xCAFEBABE);
        out.writeInt(52);
        out.writeShort(FIRST_NAME + METHODS);
        utf8(out, name);
        ref(out, 1);
        utf8(out, "java/lang/Object");
        ref(out, 3);
        utf8(out, "Code");
        utf8(out, "(I)I");
        for (int m = 0; m < METHODS; m++) {
            utf8(out, "step" + m + "Of" + name);
        }
        out.writeShort(0x21);
        out.writeShort(2);
        out.writeShort(4);
        out.writeInt(0);
        out.writeShort(METHODS);
        for (int m = 0; m < METHODS; m++) {
            method(out, FIRST_NAME + m);
        }
        out.writeShort(0);
        return bytes.toByteArray();
    }

    private static void utf8(DataOutputStream out, String s) throws IOException {
        out.writeByte(1);
        out.writeUTF(s);
    }

    private static void ref(DataOutputStream out, int index) throws IOException {
        out.writeByte(7);
        out.writeShort(index);
    }

    /** static int f(int x) { return x; } */
    private static void method(DataOutputStream out, int name) throws IOException {
        out.writeShort(9);
        out.writeShort(name);
        out.writeShort(6);
        out.writeShort(1);
        out.writeShort(5);
        out.writeInt(14);
        out.writeShort(1);
        out.writeShort(1);
        out.writeInt(2);
        out.write(new byte[] {0x1a, (byte) 0xac});
        out.writeShort(0);
        out.writeShort(0);
    }

    private static final class Loader extends ClassLoader {
        Class<?> define(String name) throws IOException {
            byte[] b = classFile(name);
            Class<?> c = defineClass(name, b, 0, b.length);
            resolveClass(c);
            return c;
        }
    }

    private static void spin() {
        long last = System.nanoTime();
        while (true) {
            long now = System.nanoTime();
            if (reset) {
                longest = 0;
                reset = false;
            } else if (now - last > longest) {
                longest = now - last;
            }
            last = now;
        }
    }

    public static void main(String[] args) throws Exception {
        int n = args.length > 0 ? Integer.parseInt(args[0]) : 12000;
        Loader loader = new Loader();
        Class<?>[] kept = new Class<?>[n];
        for (int i = 0; i < n; i++) {
            kept[i] = loader.define("Generated" + i);
            kept[i].getDeclaredMethods(); // links the class
        }
        Thread t = new Thread(ManyClasses::spin, "spin");
        t.setDaemon(true);
        t.start();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            if (line.equals("reset")) {
                reset = true;
                while (reset) {
                    Thread.sleep(1);
                }
                System.out.println("reset done");
            } else if (line.equals("gap")) {
                System.out.println("gap " + longest);
            }
        }
        if (kept[0] == null) {
            throw new AssertionError();
        }
    }
}
