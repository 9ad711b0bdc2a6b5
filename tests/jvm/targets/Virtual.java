import java.lang.reflect.Method;

/** Virtual threads (JDK 21) that each spin in a method of their own, allocate so that they are moved, and let others
 *  have their carrier; one has no name, one waits and keeps its carrier. */
public class Virtual {
    static volatile Object sink;
    static volatile long end;

    static void turn() {
        long x = 0;
        for (int i = 0; i < 400_000; i++) x += i % 7;
        sink = new byte[20480 + (int) (x & 7)];
    }

    /** A short one that leaves the carrier to the others; yielding threads come back before those that have not begun. */
    static void pause() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void first() { while (System.nanoTime() < end) { turn(); pause(); } }
    static void second() { while (System.nanoTime() < end) { turn(); pause(); } }
    static void third() { while (System.nanoTime() < end) { turn(); pause(); } }
    static void nameless() { while (System.nanoTime() < end) { turn(); pause(); } }

    /** Who waits while a class is initialised has the JVM's own frames below him and keeps his carrier, also since 24. */
    static class Slow {
        static {
            while (System.nanoTime() < end) java.util.concurrent.locks.LockSupport.parkNanos(20_000_000);
        }
        static void touch() { }
    }

    static void pinned() { Slow.touch(); }

    /** Through reflection: the targets are compiled for Java 11. */
    static Thread start(String name, Runnable r) throws Exception {
        Class<?> virtual = Class.forName("java.lang.Thread$Builder$OfVirtual"), builder = Class.forName("java.lang.Thread$Builder");
        Object b = Thread.class.getMethod("ofVirtual").invoke(null);
        if (name != null) b = virtual.getMethod("name", String.class).invoke(b, name);
        Thread t = (Thread) builder.getMethod("start", Runnable.class).invoke(b, r);
        Method id = Thread.class.getMethod("threadId");
        System.out.println(name + "=" + id.invoke(t));
        return t;
    }

    public static void main(String[] args) throws Exception {
        end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        Thread[] all = {start("first", Virtual::first), start("zw\u00e9ite \u20ac \ud83d\ude00", Virtual::second),
                        start("third", Virtual::third), start(null, Virtual::nameless), start("pinned", Virtual::pinned)};
        System.out.println("ready");
        for (Thread t : all) t.join();
    }
}
