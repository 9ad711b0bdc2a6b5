/** Hardly ever stands on the same stack twice: each level of a recursion goes left or right, as the bits of a counter say. */
public class Branches {
    static long sink;

    static long left(long way, int depth) {
        return depth == 0 ? Split.spin(1) : step(way, depth) + 1;
    }

    static long right(long way, int depth) {
        return depth == 0 ? Split.spin(1) : step(way, depth) + 2;
    }

    static long step(long way, int depth) {
        return (way & 1) == 0 ? left(way >> 1, depth - 1) : right(way >> 1, depth - 1);
    }

    public static void main(String[] args) {
        long end = Split.CLOCK.getCurrentThreadCpuTime() + (long) (Double.parseDouble(args[0]) * 1e9); // of CPU time: as many samples on a busy machine

        System.out.println("ready");
        for (long n = 1; Split.CLOCK.getCurrentThreadCpuTime() < end; n++)
            sink += step(n * 0x9e3779b97f4a7c15L, 60);
    }
}
