/** Half of a thread's CPU time in the kernel (reads of /dev/zero), half in a loop, by the thread's own clock. */
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

public class Syscalls {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static long sink;

    static void kernel(RandomAccessFile zero, byte[] buffer, long until) throws Exception {
        while (CLOCK.getCurrentThreadCpuTime() < until)
            for (int i = 0; i < 4; i++)
                sink += zero.read(buffer);
    }

    static void user(long until) {
        while (CLOCK.getCurrentThreadCpuTime() < until)
            for (int i = 0; i < 50; i++)
                sink += Split.spin(i);
    }

    public static void main(String[] args) throws Exception {
        RandomAccessFile zero = new RandomAccessFile("/dev/zero", "r");
        byte[] buffer = new byte[8192]; // JDK's own limit for a copy on the stack
        System.out.println("ready");
        long at = CLOCK.getCurrentThreadCpuTime();
        long end = at + (long) (Double.parseDouble(args[0]) * 1e9); // of CPU time
        while (at < end) {
            long part = Split.part(); // the same for both, never in step with a timer
            kernel(zero, buffer, at += 5 * part);
            user(at += 5 * part);
        }
    }
}
