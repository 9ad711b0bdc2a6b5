import java.io.File;
import java.io.RandomAccessFile;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import java.util.regex.Pattern;
import java.util.stream.*;
import java.util.zip.*;
import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;

/** Every kind of frame that a JVM makes, for so many seconds: what an unwinder must get through. */
public class Mixture {
    static volatile boolean stop;
    static volatile long sink;
    static final Object lock = new Object();
    static int shared;

    interface Shape { double area(); }
    static class Square implements Shape { double a = 2; public double area() { return a * a; } }
    static class Circle implements Shape { double r = 2; public double area() { return Math.PI * r * r; } }
    static class Tri implements Shape { double b = 2, h = 3; public double area() { return b * h / 2; } }
    static class Odd implements Shape { public double area() { return sink & 3; } }

    static double areas(Shape[] s) { double t = 0; for (Shape x : s) t += x.area(); return t; }

    static void inlining() {
        Map<String, Integer> m = IntStream.range(0, 2000).boxed()
            .collect(Collectors.toMap(i -> "k" + i, i -> i * 7));
        sink += m.entrySet().stream().filter(e -> e.getValue() % 3 == 0)
            .map(e -> e.getKey().substring(1)).mapToInt(Integer::parseInt).sorted().sum();
    }

    static int recurse(int n, int[] a) { return n == 0 ? sum(a) : 1 + recurse(n - 1, a); }
    static int sum(int[] a) { int t = 0; for (int i = 0; i < a.length; i++) t += a[i] ^ i; return t; }

    static long osr() { long t = 0; for (int i = 0; i < 3_000_000; i++) t += i % 7 * (t & 3); return t; }

    static void thrower(int n) { if (n == 0) throw new IllegalStateException("x" + n); thrower(n - 1); }
    static void exceptions() {
        for (int i = 0; i < 300; i++) try { thrower(i % 30); } catch (IllegalStateException e) { sink += e.getMessage().length(); }
        Object o = "s";
        for (int i = 0; i < 100; i++) try { sink += ((Integer) o); } catch (ClassCastException e) { sink++; }
        int[] a = new int[3];
        for (int i = 0; i < 200; i++) try { sink += a[i % 5]; } catch (ArrayIndexOutOfBoundsException e) { sink++; }
    }

    static void deopts(int round) {
        Shape[] s = new Shape[64];
        for (int i = 0; i < s.length; i++) s[i] = round % 4 == 0 ? new Square() : round % 4 == 1 ? (i % 2 == 0 ? new Square() : new Circle())
            : i % 3 == 0 ? new Tri() : i % 3 == 1 ? new Circle() : new Odd();
        for (int i = 0; i < 2000; i++) sink += (long) areas(s);
    }

    static void zip() throws Exception {
        byte[] in = new byte[60_000], out = new byte[70_000];
        for (int i = 0; i < in.length; i++) in[i] = (byte) (i * i >> 3);
        Deflater d = new Deflater();
        d.setInput(in); d.finish();
        int n = d.deflate(out); d.end();
        Inflater f = new Inflater(); f.setInput(out, 0, n); sink += f.inflate(in); f.end();
        CRC32 c = new CRC32(); c.update(in); sink += c.getValue();
    }

    static void files() throws Exception {
        File f = File.createTempFile("mixture", null);
        try (RandomAccessFile r = new RandomAccessFile(f, "rw")) {
            byte[] b = new byte[4096];
            for (int i = 0; i < 100; i++) { r.write(b); r.seek(i * 100); sink += r.read(b); }
        }
        f.delete();
    }

    static void monitors() { for (int i = 0; i < 20000; i++) synchronized (lock) { shared += i; } }

    static void handles() throws Throwable {
        MethodHandle h = MethodHandles.lookup().findStatic(Mixture.class, "sum", MethodType.methodType(int.class, int[].class));
        MethodHandle g = MethodHandles.filterReturnValue(h, MethodHandles.identity(int.class));
        Method r = Mixture.class.getDeclaredMethod("sum", int[].class);
        int[] a = new int[100];
        for (int i = 0; i < 2000; i++) { sink += (int) g.invokeExact(a); sink += (Integer) r.invoke(null, (Object) a); }
    }

    static void math() { double t = 0; for (int i = 1; i < 20000; i++) t += Math.sin(i) * Math.pow(i, 0.3) + Math.log(i) + Math.exp(i % 5); sink += (long) t; }

    static void copies() {
        Object[] a = new Object[3000], b = new Object[3000];
        byte[] c = new byte[20000], d = new byte[20000];
        Arrays.fill(a, "x");
        for (int i = 0; i < 500; i++) { System.arraycopy(a, 0, b, i % 7, 2900); System.arraycopy(c, i % 9, d, 0, 19000); }
        String[] s = new String[3000];
        for (int i = 0; i < 100; i++) System.arraycopy(a, 0, s, 0, 3000);
        Arrays.fill(c, (byte) 1); sink += Arrays.equals(c, d) ? 1 : 0;
    }

    static void crypto() throws Exception {
        Cipher c = Cipher.getInstance("AES/ECB/PKCS5Padding");
        c.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"));
        sink += c.doFinal(new byte[200_000]).length;
        java.security.MessageDigest m = java.security.MessageDigest.getInstance("SHA-256");
        sink += m.digest(new byte[100_000])[0];
    }

    static void text() {
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < 500; i++) b.append("line ").append(i).append(" of ").append(i * 0.37).append('\n');
        sink += Pattern.compile("l(i|n)+e (\\d+) of .*7").matcher(b).results().count();
        sink += String.join(",", new TreeSet<>(Arrays.asList(b.toString().split("\\W+")))).hashCode();
    }

    static void garbage() {
        List<byte[]> l = new ArrayList<>();
        for (int i = 0; i < 3000; i++) { l.add(new byte[i % 3000]); if (l.size() > 300) l.clear(); }
        Object[][] g = new Object[100][100];
        for (int i = 0; i < 10000; i++) g[i % 100][i / 100] = new Object[]{g[(i + 1) % 100]};
        sink += g.length + l.size();
    }

    static void subtypes() {
        Object[] o = {"s", 1, 2L, new ArrayList<>(), new HashMap<>(), new TreeMap<>(), new ConcurrentHashMap<>()};
        for (int i = 0; i < 20000; i++) {
            Object x = o[i % o.length];
            if (x instanceof Comparable) sink++;
            if (x instanceof SortedMap) sink++;
            if (x instanceof Serializable2) sink++;
            if (x instanceof ConcurrentMap) sink++;
        }
    }
    interface Serializable2 {}

    static void round(int i) throws Throwable {
        inlining(); exceptions(); deopts(i); zip(); files(); monitors(); handles(); math(); copies(); crypto();
        text(); garbage(); subtypes();
        sink += osr() + recurse(i % 5 == 0 ? 1500 : 100, new int[2000]);
    }

    public static void main(String[] args) throws Exception {
        int seconds = args.length > 0 ? Integer.parseInt(args[0]) : 5;
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 3;
        boolean virtual = args.length > 2 && args[2].equals("virtual");
        Runnable work = () -> { try { for (int i = 0; !stop; i++) { round(i); if (virtual) Thread.sleep(1); } } catch (Throwable t) { t.printStackTrace(); System.exit(3); } };
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) all.add(virtual ? startVirtual(work) : new Thread(work, "mix-" + i));
        if (!virtual) for (Thread t : all) t.start();
        System.out.println("ready");
        Thread.sleep(seconds * 1000L);
        stop = true;
        for (Thread t : all) t.join(10000);
        System.out.println("done " + sink);
    }

    static Thread startVirtual(Runnable r) throws Exception {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, r);
    }
}
