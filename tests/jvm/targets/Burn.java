/** Threads that live on and use CPU time when a line "SECONDS" comes: each as much by its own clock, every other one also in
 *  the kernel. Nothing else runs before and after, so the process's CPU time can be read from outside. */
import java.io.FileInputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Scanner;
import java.util.concurrent.CyclicBarrier;

public class Burn {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static volatile long each;
    static long sink;

    static void user() {
        for (int i = 0; i < 50; i++)
            sink += Split.spin(i);
    }

    static void kernel(FileInputStream zero, byte[] into) throws Exception {
        for (int i = 0; i < 20; i++)
            sink += zero.read(into);
    }

    static void burn(boolean calls, FileInputStream zero) throws Exception {
        byte[] into = new byte[8 << 10];
        long end = CLOCK.getCurrentThreadCpuTime() + each;
        while (CLOCK.getCurrentThreadCpuTime() < end) {
            user();
            if (calls)
                kernel(zero, into);
        }
    }

    public static void main(String[] args) throws Exception {
        int n = Integer.parseInt(args[0]);
        CyclicBarrier gate = new CyclicBarrier(n + 1);
        for (int i = 0; i < n; i++) {
            boolean calls = i % 2 == 1;
            Thread t = new Thread(() -> {
                try (FileInputStream zero = new FileInputStream("/dev/zero")) {
                    for (;;) {
                        gate.await();
                        burn(calls, zero);
                        gate.await();
                    }
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            }, "burner-" + i);
            t.setDaemon(true);
            t.start();
        }
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        for (int turn = 1; in.hasNextLine(); turn++) {
            each = (long) (Double.parseDouble(in.nextLine()) * 1e9);
            gate.await();
            gate.await();
            System.out.println("turn " + turn + ".");
        }
    }
}
