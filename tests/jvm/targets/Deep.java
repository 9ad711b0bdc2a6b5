/** Spins at the bottom of a deep recursion, for so many seconds of CPU time: as many samples on a busy machine. */
public class Deep {
    static long sink;

    static long down(int depth, long end) {
        if (depth > 0)
            return down(depth - 1, end) + 1;
        while (Split.CLOCK.getCurrentThreadCpuTime() < end)
            for (int i = 0; i < 1000; i++)
                sink += Split.spin(1);
        return sink;
    }

    public static void main(String[] args) {
        System.out.println("ready");
        down(Integer.parseInt(args[1]), Split.CLOCK.getCurrentThreadCpuTime() + (long) (Double.parseDouble(args[0]) * 1e9));
    }
}
