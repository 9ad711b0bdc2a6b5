/** A thread that spins under one name and then under another, long enough for each to be seen. */
public class Rename {
    static long sink;

    static void spin(String name) {
        Thread.currentThread().setName(name);
        long end = System.nanoTime() + 2_500_000_000L;
        while (System.nanoTime() < end)
            sink += Split.spin(1);
    }

    public static void main(String[] args) {
        System.out.println("ready");
        spin("name-a");
        spin("name-b");
    }
}
