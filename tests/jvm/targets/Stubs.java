/** Spends its time in routines that the JVM generates: each method by turns, for an equal share of the thread's CPU time. */
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

public class Stubs {
    interface Shape { int area(int x); }
    static abstract class Base { abstract int size(int x); }

    static class A extends Base implements Shape { public int area(int x) { return x + 1; } int size(int x) { return x + 7; } }
    static class B extends Base implements Shape { public int area(int x) { return x ^ 2; } int size(int x) { return x ^ 5; } }
    static class C extends Base implements Shape { public int area(int x) { return x * 3; } int size(int x) { return x * 9; } }
    static class D extends Base implements Shape { public int area(int x) { return x - 4; } int size(int x) { return x - 3; } }

    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static final byte[] DATA = new byte[1 << 16], TO = new byte[(1 << 16) * 2];
    static final Base[] ALL = {new A(), new B(), new C(), new D()};
    static final Shape[] SHAPES = {new A(), new B(), new C(), new D()};
    static volatile long sink;

    static void copy() { for (int i = 0; i < 20; i++) System.arraycopy(DATA, i & 7, TO, i, DATA.length - 8); }
    static void crc() { CRC32 c = new CRC32(); c.update(DATA, 0, DATA.length); sink += c.getValue(); }
    static void crcC() { CRC32C c = new CRC32C(); c.update(DATA, 0, DATA.length); sink += c.getValue(); }
    static void md5() throws Exception { sink += MessageDigest.getInstance("MD5").digest(DATA)[0]; }
    static void sha() throws Exception { sink += MessageDigest.getInstance("SHA-256").digest(DATA)[0]; }
    static void base64() { sink += Base64.getEncoder().encode(DATA, TO); }
    static void byInterface() { int x = 1; for (int i = 0; i < 20000; i++) x = SHAPES[i & 3].area(x); sink += x; }
    static void byClass() { int x = 1; for (int i = 0; i < 20000; i++) x = ALL[i & 3].size(x); sink += x; }

    interface Part { void run() throws Exception; }

    static void turn(Part part, long until) throws Exception {
        while (CLOCK.getCurrentThreadCpuTime() < until)
            part.run();
    }

    public static void main(String[] args) throws Exception {
        Part[] parts = {Stubs::copy, Stubs::crc, Stubs::crcC, Stubs::md5, Stubs::sha, Stubs::base64, Stubs::byInterface, Stubs::byClass};
        double seconds = Double.parseDouble(args[0]);
        for (int i = 0; i < DATA.length; i++)
            DATA[i] = (byte) (i * 31);
        System.out.println("ready");
        if (args.length > 1)
            System.in.read();
        long at = CLOCK.getCurrentThreadCpuTime(), end = at + (long) (seconds * 1e9);
        for (int i = 0; at < end; i++)
            turn(parts[i % parts.length], at += 20_000_000);
        System.out.println("done");
        while (args.length > 1 && System.in.read() != 'e')
            ;
    }
}
