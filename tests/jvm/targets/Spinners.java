import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that spin for the given seconds. Says of each what the kernel has counted when it begins and when it ends (nanoseconds it ran,
 * nanoseconds it waited for a core, how often it got one), and the longest time in nanoseconds that it did not run in between. What
 * they need is loaded before they begin; before and after, they are parked.
 */
public class Spinners {
    static volatile boolean begun, done;
    static long sink;

    final Thread thread;
    volatile String before, after;
    long last, longest;

    Spinners(int i) {
        thread = new Thread(this::run, "spinner-" + i);
        thread.setDaemon(true);
        thread.start();
    }

    static String schedstat() throws Exception {
        return Files.readString(Path.of("/proc/thread-self/schedstat")).trim();
    }

    /** All that a spinner needs beside itself. */
    static void load() throws Exception {
        if ((schedstat() + " " + Split.spin(1)).isEmpty())
            sink++;
    }

    void spin() {
        long now = System.nanoTime();
        longest = Math.max(longest, now - last);
        last = now;
        sink += Split.spin(1);
    }

    void run() {
        try {
            before = schedstat();
            while (!begun)
                LockSupport.park();
            longest = 0;
            last = System.nanoTime();
            while (!done)
                spin();
            after = schedstat();
        } catch (Exception e) {
            before = after = e.toString();
        }
        while (true)
            LockSupport.park();
    }

    static void end(Spinners[] all) throws Exception {
        done = true;
        for (Spinners s : all) {
            while (s.after == null)
                Thread.sleep(10);
            System.out.println(s.thread.getName() + " " + s.before + " " + s.after + " " + s.longest);
        }
    }

    public static void main(String[] args) throws Exception {
        Spinners[] all = new Spinners[Integer.parseInt(args[1])];
        load();
        for (int i = 0; i < all.length; i++)
            all[i] = new Spinners(i);
        for (Spinners s : all)
            while (s.before == null)
                Thread.sleep(10);
        Thread.sleep(500); // the profiler has seen them
        begun = true;
        for (Spinners s : all)
            LockSupport.unpark(s.thread);
        System.out.println("ready");
        Thread.sleep((long) (Double.parseDouble(args[0]) * 1000));
        end(all);
        Thread.sleep(100);
    }
}
