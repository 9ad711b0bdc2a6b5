/** A thread that writes to a file and waits for the disk, again and again. Arguments: seconds, file. */
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

public class Disk {
    static void syncing(FileChannel file) throws Exception {
        file.write(ByteBuffer.allocate(1 << 20), 0);
        file.force(true);
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        try (FileChannel file = FileChannel.open(Path.of(args[1]), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            while (System.nanoTime() < end)
                syncing(file);
        }
    }
}
