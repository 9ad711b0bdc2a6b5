/** Prints the events of a recording, one a line with tabs between: type, start in ns, thread, state, span in ns,
 *  samples, truncated, stack leaf first with ';' between ("Class.method" or "module.function" with its frame type). */
import java.io.BufferedWriter;
import java.io.OutputStreamWriter;
import java.nio.file.Path;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

public class Events {
    static String stack(RecordedEvent e) {
        StringBuilder out = new StringBuilder();
        RecordedStackTrace trace = e.getStackTrace();
        if (trace == null)
            return "";
        for (RecordedFrame f : trace.getFrames()) {
            if (out.length() > 0)
                out.append(';');
            String type = f.getMethod().getType().getName();
            out.append(type).append('.').append(f.getMethod().getName()).append(" [").append(f.getType()).append(']');
        }
        return out.toString();
    }

    static String thread(RecordedEvent e) {
        if (!e.hasField("sampledThread"))
            return "";
        RecordedThread t = e.getThread("sampledThread");
        if (t == null)
            return "";
        String name = t.getJavaName() != null ? t.getJavaName() : t.getOSName();
        return name + "\t" + t.getOSThreadId() + "\t" + t.getJavaThreadId();
    }

    public static void main(String[] args) throws Exception {
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out));
        try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
            while (file.hasMoreEvents()) {
                RecordedEvent e = file.readEvent();
                String type = e.getEventType().getName();
                java.time.Instant at = e.getStartTime();
                out.write(type + "\t" + (at.getEpochSecond() * 1_000_000_000L + at.getNano()) + "\t");
                if (e.hasField("sampledThread")) {
                    RecordedStackTrace trace = e.getStackTrace();
                    out.write(thread(e) + "\t" + e.getString("state") + "\t"
                        + (e.hasField("timeSpan") ? e.getDuration("timeSpan").toNanos() : 0) + "\t"
                        + (e.hasField("samples") ? e.getInt("samples") : 1) + "\t"
                        + (trace != null && trace.isTruncated()) + "\t" + stack(e));
                } else {
                    out.write(e.toString().replaceAll("\\s+", " ") + " ns = " + e.getDuration().toNanos());
                }
                out.write("\n");
            }
        }
        out.flush();
    }
}
