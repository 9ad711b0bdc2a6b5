import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;

/** Fifty threads that wait. A line on stdin ends them all, collects garbage and starts fifty others. */
public class Generations {
    static List<Thread> start() {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            Thread t = new Thread(() -> {
                try {
                    Thread.sleep(1_000_000);
                } catch (InterruptedException e) {
                    // its turn is over
                }
            });
            t.setDaemon(true);
            t.start();
            threads.add(t);
        }
        return threads;
    }

    public static void main(String[] args) throws Exception {
        List<Thread> threads = start();
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        for (int turn = 1; in.hasNextLine(); turn++) {
            in.nextLine();
            System.gc();
            for (Thread t : threads)
                t.interrupt();
            for (Thread t : threads)
                t.join();
            threads = start();
            System.out.println("turn " + turn);
        }
    }
}
