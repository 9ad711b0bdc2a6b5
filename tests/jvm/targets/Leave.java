/** Spins for a while, by the clock and by its own CPU time, and leaves as told: exit CODE, halt CODE, return, throw. */
public class Leave {
    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        long most = (long) (Double.parseDouble(args[0]) * 1e9), end = System.nanoTime() + most, ran = Split.CLOCK.getCurrentThreadCpuTime() + most, sink = 0;
        while (System.nanoTime() < end || Split.CLOCK.getCurrentThreadCpuTime() < ran)
            sink += Split.spin(1);
        System.out.println("leaving " + System.currentTimeMillis());
        if (args[1].equals("exit"))
            System.exit(Integer.parseInt(args[2]));
        if (args[1].equals("halt"))
            Runtime.getRuntime().halt(Integer.parseInt(args[2]));
        if (args[1].equals("throw"))
            throw new IllegalStateException("as told " + sink);
    }
}
