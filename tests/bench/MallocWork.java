/**
 * A thread "worker" that does nothing but allocate and free native memory through Unsafe: blocks of 64 to 4,096 bytes. On each line of
 * its standard input it prints "units N": how many blocks there were so far.
 */
public class MallocWork {
    static volatile long units;

    public static void main(String[] args) throws Exception {
        java.lang.reflect.Field f = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        f.setAccessible(true);
        sun.misc.Unsafe unsafe = (sun.misc.Unsafe) f.get(null);
        Thread t = new Thread(() -> {
            for (;;) {
                for (int i = 0; i < 64; i++)
                    unsafe.freeMemory(unsafe.allocateMemory(64L + 64 * i));
                units = units + 64;
            }
        }, "worker");
        t.setDaemon(true);
        t.start();
        System.out.println("ready");
        while (System.in.read() >= 0)
            System.out.println("units " + units);
    }
}
