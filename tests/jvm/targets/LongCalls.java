/** Half of a thread's CPU time in system calls of tens of milliseconds that no signal breaks off (reads of a file that the
 *  kernel has in memory), half in a loop, by the thread's own clock. At the end it prints both times in ns, and how often the
 *  thread was preempted in such calls. */
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;

public class LongCalls {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

    static void kernel(FileChannel file, ByteBuffer buffer) throws Exception {
        buffer.clear();
        file.read(buffer, 0);
    }

    static long preemptions() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/thread-self/status")))
            if (line.startsWith("nonvoluntary_ctxt_switches:"))
                return Long.parseLong(line.split("\\s+")[1]);
        return 0;
    }

    static void user(long until) {
        Syscalls.user(until);
    }

    public static void main(String[] args) throws Exception {
        FileChannel file = new RandomAccessFile(args[1], "rw").getChannel();
        ByteBuffer buffer = ByteBuffer.allocateDirect(256 << 20);
        file.write(buffer);
        System.out.println("ready");
        long end = CLOCK.getCurrentThreadCpuTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        long inKernel = 0, inUser = 0, preempted = 0;
        while (CLOCK.getCurrentThreadCpuTime() < end) {
            long before = preemptions(), at = CLOCK.getCurrentThreadCpuTime();
            kernel(file, buffer);
            long took = CLOCK.getCurrentThreadCpuTime() - at;
            preempted += preemptions() - before;
            inKernel += took;
            at = CLOCK.getCurrentThreadCpuTime();
            user(at + took);
            inUser += CLOCK.getCurrentThreadCpuTime() - at;
        }
        System.out.println("kernel " + inKernel + " user " + inUser + " preempted " + preempted);
    }
}
