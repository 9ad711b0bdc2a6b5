/** Four ways down one deep recursion, taken in turns; the method at the end says which way it was. Big frames hold more on the stack.
 * Arguments: seconds of CPU, depth, "big" or not, how long an end spins, and for how many seconds of CPU it stays at the top before. */
public class Ways {
    static volatile long sink;
    static int spins;

    static void spin() {
        long x = 0;
        for (int i = 0; i < spins; i++) x += i % 7;
        sink += x;
    }

    static void firstEnd() { spin(); }
    static void secondEnd() { spin(); }

    static int down(int depth, int way) {
        if (depth > 0) return down(depth - 1, way) + 1;
        if (way == 0) firstEnd();
        else secondEnd();
        return 0;
    }

    static long big(int depth, int way, long a, long b, long c, long d, long e, long f) {
        if (depth > 0) {
            long n = big(depth - 1, way, b, c, d, e, f, a + 1);
            return n + a * 3 + b * 5 + c * 7 + d * 11 + e * 13 + f * 17;
        }
        if (way == 0) firstEnd();
        else secondEnd();
        return a;
    }

    static long first(int depth, boolean big) { return big ? big(depth, 0, 1, 2, 3, 4, 5, 6) : down(depth, 0); }
    static long second(int depth, boolean big) { return big ? big(depth, 1, 1, 2, 3, 4, 5, 6) : down(depth, 1); }

    static void shallow(double seconds) {
        long end = Split.CLOCK.getCurrentThreadCpuTime() + (long) (seconds * 1e9);
        while (Split.CLOCK.getCurrentThreadCpuTime() < end)
            spin();
    }

    public static void main(String[] args) {
        long begin = Split.CLOCK.getCurrentThreadCpuTime(), end = begin + (long) (Double.parseDouble(args[0]) * 1e9);
        int depth = Integer.parseInt(args[1]);
        boolean big = args.length > 2 && args[2].equals("big");
        long n = 0;

        spins = args.length > 3 ? Integer.parseInt(args[3]) : 3000;
        System.out.println("ready");
        if (args.length > 4)
            shallow(Double.parseDouble(args[4]));
        end += Split.CLOCK.getCurrentThreadCpuTime() - begin;
        while (Split.CLOCK.getCurrentThreadCpuTime() < end) {
            n += first(depth, big);
            n += second(depth, big);
        }
        sink += n;
    }
}
