import java.util.ArrayDeque;

/** Allocates a known split of bytes by three callers: 70, 20 and 10 percent; keeps every nth object. */
public class Alloc {
    static Object sink;
    static final ArrayDeque<Object> kept = new ArrayDeque<>();

    static final class Small {
        long a, b;
    }

    static void seventy(int n) {
        for (int i = 0; i < n; i++) sink = new byte[7 * 1024 - 16];
    }

    static void twenty(int n) {
        for (int i = 0; i < n; i++) sink = new long[(2 * 1024 - 16) / 8];
    }

    /** 1,024 bytes in objects of 32 (header 12 or 16, two longs: 32 with padding at most). */
    static void ten(int n) {
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 32; k++) sink = new Small();
    }

    public static void main(String[] args) throws Exception {
        long seconds = Long.parseLong(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        System.out.println("ready");
        while (System.nanoTime() < end) {
            seventy(100);
            twenty(100);
            ten(100);
        }
        System.out.println("done");
    }
}
