import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Does at once what is hard on a profiler: classes come, change and go, stacks overflow, exceptions, JNI, locks, forks, threads
 * of several stack sizes and, where there are, 20,000 virtual threads. Prints "beat N" while every one of them gets on. Its
 * argument is the library of tests/jvm/native/storm.c; a line on its standard input ends it: "exit", "halt" or "return".
 */
public class Storm {
    public static final Object lock = new Object();
    public static volatile Object sink; // classes of other loaders reach it
    static volatile Instrumentation instrumentation;
    static final List<AtomicLong> turns = new ArrayList<>();

    interface Act {
        void run() throws Exception;
    }

    /** Is loaded again and again by loaders of its own, and retransformed. */
    public static class Guest implements Runnable {
        public void run() {
            int sum = 0;
            for (int i = 0; i < 20000; i++)
                sum += Integer.toString(i).length();
            sink = sum;
        }
    }

    static class Loader extends ClassLoader {
        Class<?> guest() throws Exception {
            try (InputStream in = Storm.class.getResourceAsStream("Storm$Guest.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass("Storm$Guest", bytes, 0, bytes.length);
            }
        }
    }

    /** Its methods are given the bodies of Shape1 and Shape2 in turn, while threads are inside of them. */
    public static class Shape0 {
        public static int work(int n) {
            int sum = 0;
            for (int i = 0; i < n; i++)
                sum += step(i);
            sink = sum;
            return 0;
        }

        static int step(int i) {
            return Integer.bitCount(i);
        }
    }

    public static class Shape1 {
        public static int work(int n) {
            StringBuilder text = new StringBuilder();
            for (int i = n; i > 0; i -= 16)
                text.append(step(i)).append(',');
            sink = text.toString().split(",");
            return 1;
        }

        static int step(int i) {
            try {
                return Integer.parseInt("x" + i);
            } catch (NumberFormatException e) {
                return e.getMessage().length();
            }
        }
    }

    public static class Shape2 {
        public static int work(int n) {
            long[] all = new long[64];
            synchronized (lock) {
                for (int i = 0; i < n; i++)
                    all[i & 63] ^= step(i) * 31L;
            }
            sink = all;
            return 2;
        }

        static int step(int i) {
            return i <= 0 ? 1 : i % 3 == 0 ? step(i / 3) : step(i / 5) + 1;
        }
    }

    static final byte[][] shapes = new byte[3][];

    /** The class file of ShapeN under the name of Shape0: their names are equally long. */
    static byte[] shape(int n) throws Exception {
        try (InputStream in = Storm.class.getResourceAsStream("Storm$Shape" + n + ".class")) {
            String bytes = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
            return bytes.replace("Storm$Shape" + n, "Storm$Shape0").getBytes(StandardCharsets.ISO_8859_1);
        }
    }

    static native void prepare();

    static final int WRONG_PHASE = 112; // of JVMTI: the JVM ends, while this thread still runs

    static native int redefine0(Class<?> c, byte[] bytes);

    static native int critical(byte[] bytes, String text);

    static native int down(int depth);

    static native void throwing();

    static native void references(Object o);

    static native void visitors(int turn);

    static void classes() throws Exception {
        ((Runnable) new Loader().guest().getDeclaredConstructor().newInstance()).run();
    }

    static void collect() throws Exception {
        Thread.sleep(300);
        System.gc();
    }

    static void throwUnless(int want, int is) {
        if (is != want)
            throw new IllegalStateException(is + " instead of " + want);
    }

    static int shape;

    /** By java.lang.instrument and by JVMTI in turn: not every JDK has the former. */
    static int redefineTo(int shape) throws Exception {
        if (instrumentation == null || shape == 1)
            return redefine0(Shape0.class, shapes[shape]);
        instrumentation.redefineClasses(new ClassDefinition(Shape0.class, shapes[shape]));
        return 0;
    }

    /** Of two changes of a class in the same moment HotSpot loses one (HOST.md): the next one holds. */
    static void redefine() throws Exception {
        shape = (shape + 1) % shapes.length;
        int error = redefineTo(shape);
        if (error == 0 && Shape0.work(2000) != shape)
            error = redefineTo(shape);
        if (error == WRONG_PHASE)
            return;
        throwUnless(0, error);
        throwUnless(shape, Shape0.work(2000));
        new Guest().run();
        if (instrumentation != null)
            instrumentation.retransformClasses(Guest.class);
        Thread.sleep(20);
    }

    /** In the methods while they are redefined. */
    static void changing() throws Exception {
        Shape0.work(50000);
        Thread.sleep(1);
    }

    static int tooDeep(int n) {
        return n + tooDeep(n + 1);
    }

    static void overflow() {
        try {
            tooDeep(0);
        } catch (StackOverflowError e) {
            sink = e;
        }
    }

    static void thrower(int depth) {
        if (depth == 0)
            throw new IllegalStateException("as planned");
        thrower(depth - 1);
    }

    static void exceptionsOf(int n) {
        for (int i = 0; i < n; i++)
            try {
                thrower(i % 50);
            } catch (IllegalStateException e) {
                sink = e;
            }
    }

    static void exceptions() throws Exception {
        exceptionsOf(200);
        Thread.sleep(5);
    }

    static int again(int depth) {
        return down(depth);
    }

    static int visits;

    /** Called by threads that native code started. */
    static void attached(int turn) {
        if (turn % 3 == 0)
            overflow();
        sink = again(turn % 8);
        exceptionsOf(20);
    }

    static void jni() throws Exception {
        sink = critical(new byte[20000], "text that must not move " + visits);
        sink = down(30);
        references(new Object());
        visitors(visits += 5);
        try {
            throwing();
        } catch (IllegalStateException e) {
            sink = e;
        }
        Thread.sleep(10);
    }

    static void natives() throws Exception {
        byte[] in = new byte[1 << 16], out = new byte[1 << 17];
        Deflater d = new Deflater();
        d.setInput(in);
        d.finish();
        int n = d.deflate(out);
        d.end();
        Inflater i = new Inflater();
        i.setInput(out, 0, n);
        i.inflate(in);
        i.end();
        sink = Class.forName("java.lang.String").getMethod("valueOf", int.class).invoke(null, n);
        Thread.sleep(2);
    }

    static void locks() throws Exception {
        synchronized (lock) {
            lock.notifyAll();
            lock.wait(1);
        }
        LockSupport.parkNanos(100000);
    }

    static void forks() throws Exception {
        new ProcessBuilder("/bin/true").start().waitFor();
        Thread.sleep(50);
    }

    static void allocate() throws Exception {
        for (int i = 0; i < 1000; i++)
            sink = new byte[i];
        Thread.sleep(2);
    }

    static void churn() throws Exception {
        long[] sizes = {0, 150000, 300000, 1 << 20, 4 << 20};
        Thread[] threads = new Thread[10];
        for (int i = 0; i < threads.length; i++) {
            Act act = i % 2 == 0 ? Storm::overflow : () -> Thread.sleep(5);
            threads[i] = new Thread(null, () -> quietly(act), "churn-" + i, sizes[i % sizes.length]);
            threads[i].start();
        }
        for (Thread t : threads)
            t.join();
        Thread.sleep(20);
    }

    static void virtuals() throws Exception {
        var start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        AtomicLong left = new AtomicLong(20000);
        for (int i = 0; i < 20000; i++)
            start.invoke(null, (Runnable) () -> {
                quietly(() -> Thread.sleep(50));
                left.decrementAndGet();
            });
        while (left.get() > 0)
            Thread.sleep(10);
        Thread.sleep(200);
    }

    static void quietly(Act act) {
        try {
            act.run();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    static void always(String name, Act act) {
        AtomicLong turn = new AtomicLong();
        turns.add(turn);
        Thread t = new Thread(() -> {
            for (;;) {
                try {
                    act.run();
                } catch (Throwable e) {
                    System.out.println(name + ": " + e);
                }
                turn.incrementAndGet();
            }
        }, name);
        t.setDaemon(true);
        t.start();
    }

    public static void premain(String args, Instrumentation with) {
        instrumentation = with;
        with.addTransformer(new ClassFileTransformer() {
            public byte[] transform(ClassLoader l, String name, Class<?> c, ProtectionDomain d, byte[] bytes) {
                return "Storm$Guest".equals(name) ? bytes.clone() : null;
            }
        }, true);
    }

    static void beat(int n) throws Exception {
        long[] before = turns.stream().mapToLong(AtomicLong::get).toArray();
        for (int i = 0; i < before.length; i++)
            while (turns.get(i).get() == before[i] && !over)
                Thread.sleep(20);
        System.out.println("beat " + n);
    }

    /** The ways in which a JVM ends, but for signals. */
    static void end(String how) {
        if (how.equals("exit"))
            System.exit(7);
        if (how.equals("halt"))
            Runtime.getRuntime().halt(8);
        over = true;
    }

    static volatile boolean over;

    static void listen() {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        quietly(() -> {
            String line = in.readLine();
            if (line != null)
                end(line);
        });
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        prepare();
        for (int i = 0; i < shapes.length; i++)
            shapes[i] = shape(i);
        Thread listener = new Thread(Storm::listen, "listener");
        listener.setDaemon(true);
        listener.start();
        always("classes", Storm::classes);
        always("collect", Storm::collect);
        always("redefine", Storm::redefine);
        always("changing", Storm::changing);
        always("exceptions", Storm::exceptions);
        always("jni", Storm::jni);
        always("natives", Storm::natives);
        always("locks-1", Storm::locks);
        always("locks-2", Storm::locks);
        always("forks", Storm::forks);
        always("allocate", Storm::allocate);
        always("churn", Storm::churn);
        if (Runtime.version().feature() >= 21)
            always("virtuals", Storm::virtuals);
        System.out.println("ready");
        for (int n = 1; !over; n++)
            beat(n);
    }
}
