/** Half of a thread's CPU time in system calls of tens of milliseconds that no signal breaks off (reads of a file that the
 *  kernel has in memory), half in a loop, by the thread's own clock. */
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

public class LongCalls {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

    static void kernel(FileChannel file, ByteBuffer buffer) throws Exception {
        buffer.clear();
        file.read(buffer, 0);
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
        for (long at; (at = CLOCK.getCurrentThreadCpuTime()) < end; ) {
            kernel(file, buffer);
            long now = CLOCK.getCurrentThreadCpuTime();
            user(now + (now - at));
        }
    }
}
