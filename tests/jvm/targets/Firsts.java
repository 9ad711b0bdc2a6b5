import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CyclicBarrier;

/** So many threads, as the argument says, that have allocated nothing; on each line of stdin every one of them allocates so many
 *  objects of 1 KiB, one thread after another and one in 4 ms, so that nothing is too fast for all samples to be taken. */
public class Firsts {
    static volatile Object sink;
    static volatile int count;

    static synchronized void turn() throws InterruptedException {
        Thread.sleep(4);
        work();
    }

    static void work() {
        for (int i = 0; i < count; i++) sink = new byte[1024 - 16];
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        CyclicBarrier begin = new CyclicBarrier(threads + 1), end = new CyclicBarrier(threads + 1);
        for (int i = 0; i < threads; i++) {
            Thread t = new Thread(() -> {
                try {
                    for (;;) {
                        begin.await();
                        turn();
                        end.await();
                    }
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            }, "first-" + i);
            t.setDaemon(true);
            t.start();
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;) {
            count = Integer.parseInt(line);
            begin.await();
            end.await();
            System.out.println("did " + line);
        }
    }
}
