import java.io.File;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;

/** Opens recordings with the JDK's reader and with Mission Control's: one line each, "file reader type=count …". */
public class Readers {
    static Map<String, Long> jdk(String file) throws Exception {
        Map<String, Long> counts = new TreeMap<>();
        try (RecordingFile recording = new RecordingFile(Path.of(file))) {
            while (recording.hasMoreEvents()) {
                RecordedEvent e = recording.readEvent();
                counts.merge(e.getEventType().getName(), 1L, Long::sum);
                if (e.getEventType().getName().equals("jdk.ExecutionSample")) {
                    RecordedThread thread = e.getValue("sampledThread");
                    boolean whole = thread.getOSName() != null && e.getValue("state") != null
                            && e.getStackTrace().getFrames().stream().allMatch(
                                    f -> f.getMethod().getName() != null && f.getMethod().getType().getName() != null);
                    counts.merge(whole ? "whole" : "broken", 1L, Long::sum);
                }
            }
        }
        return counts;
    }

    static Map<String, Long> jmc(String file) throws Exception {
        Map<String, Long> counts = new TreeMap<>();
        for (IItemIterable items : JfrLoaderToolkit.loadEvents(new File(file)))
            if (items.getItemCount() > 0)
                counts.merge(items.getType().getIdentifier(), items.getItemCount(), Long::sum);
        return counts;
    }

    interface Reader {
        Map<String, Long> read(String file) throws Exception;
    }

    static void print(String file, String name, Reader reader) {
        StringBuilder line = new StringBuilder(file + "\t" + name + "\t");
        try {
            reader.read(file).forEach((type, n) -> line.append(type).append('=').append(n).append(' '));
        } catch (Throwable t) {
            line.append("failed ").append(t);
        }
        System.out.println(line);
    }

    public static void main(String[] files) {
        for (String file : files) {
            print(file, "jdk", Readers::jdk);
            print(file, "jmc", Readers::jmc);
        }
    }
}
