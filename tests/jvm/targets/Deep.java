/** Spins at the bottom of a deep recursion. */
public class Deep {
    static long sink;

    static long down(int depth, long end) {
        if (depth > 0)
            return down(depth - 1, end) + 1;
        while (System.nanoTime() < end)
            sink += Split.spin(1);
        return sink;
    }

    public static void main(String[] args) {
        System.out.println("ready");
        down(Integer.parseInt(args[1]), System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9));
    }
}
