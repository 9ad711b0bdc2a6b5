/** Two ways down the same deep recursion, taken in turns many times a millisecond: "left" always ends in "leftEnd". */
public class Paths {
    static volatile long sink;

    static void end(boolean left) {
        long x = 0;
        for (int i = 0; i < 3000; i++) x += i % 7;
        sink += x;
    }

    static void leftEnd() { end(true); }
    static void rightEnd() { end(false); }

    static int down(int depth, boolean left) {
        if (depth > 0) return down(depth - 1, left) + 1;
        if (left) leftEnd();
        else rightEnd();
        return 0;
    }

    static int left(int depth) { return down(depth, true); }
    static int right(int depth) { return down(depth, false); }

    public static void main(String[] args) {
        System.out.println("ready");
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        int depth = Integer.parseInt(args[1]), n = 0;
        while (System.nanoTime() < end) {
            n += left(depth);
            n += right(depth);
        }
        sink += n;
    }
}
