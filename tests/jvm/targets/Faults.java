/** Compiled code that meets null every so often: HotSpot sees it by SIGSEGV, without a check. Argument: seconds. Leaves with 1 if one was missed. */
public class Faults {
    static class Box {
        int value = 1;
    }

    static long sink;

    static int read(Box b) {
        return b.value;
    }

    public static void main(String[] args) {
        Box box = new Box();
        long met = 0, caught = 0;
        for (int i = 0; i < 200_000; i++)
            sink += read(box);
        System.out.println("ready");
        for (long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9); System.nanoTime() < end; met++) {
            for (int i = 0; i < 20_000; i++)
                sink += read(box);
            try {
                sink += read(null);
            } catch (NullPointerException e) {
                caught++;
            }
        }
        System.out.println("met " + met + " caught " + caught);
        System.exit(met == caught ? 0 : 1);
    }
}
