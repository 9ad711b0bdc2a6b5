/** Calls by table of which it is known for which classes they are, 8:4:3:1; beside them objects of other classes are made and thrown away, so that
 * memory of receivers becomes theirs: Receivers SECONDS. */
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

public class Receivers {
    interface Shape { int area(int x); }
    static abstract class Base implements Shape { int side; abstract int size(int x); }

    static class A extends Base { public int area(int x) { return x + 1; } int size(int x) { return x + 7; } }
    static class B extends Base { public int area(int x) { return x ^ 2; } int size(int x) { return x ^ 5; } }
    static class C extends Base { public int area(int x) { return x * 3; } int size(int x) { return x * 9; } }
    static class D extends Base { public int area(int x) { return x - 4; } int size(int x) { return x - 3; } }
    static class Other extends Base { public int area(int x) { return x; } int size(int x) { return x; } }

    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static final Base[] ALL = new Base[16];
    static Object[] others = new Object[4096];
    static volatile long sink;

    static Base make(int i) { return i < 8 ? new A() : i < 12 ? new B() : i < 15 ? new C() : new D(); }
    static void fill() { for (int i = 0; i < ALL.length; i++) ALL[i] = make(i); }
    static void waste() { for (int i = 0; i < others.length; i++) others[i] = new Other(); }
    static void byInterface() { int x = 1; for (int i = 0; i < 5000; i++) { Shape s = ALL[i * 7 & 15]; x = s.area(x); } sink += x; }
    static void byClass() { int x = 1; for (int i = 0; i < 5000; i++) x = ALL[i * 7 & 15].size(x); sink += x; }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        long end = CLOCK.getCurrentThreadCpuTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        while (CLOCK.getCurrentThreadCpuTime() < end) {
            for (int i = 0; i < 20; i++) {
                fill();
                byInterface();
                byClass();
                waste();
            }
        }
        System.out.println("done");
    }
}
