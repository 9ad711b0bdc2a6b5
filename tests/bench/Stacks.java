import java.nio.file.Path;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Sums up the samples of a recording of either profiler: one line for each kind, with tabs between: count, type, thread, state,
 * weight in samples, in nanoseconds, depth, whole, unknown, truncated, marks. Arguments: the file,
 * then the methods ("Class.method") to mark. With "-broken" as second argument it prints the stacks that are not whole. The properties
 * "from" and "to" (nanoseconds since 1970) leave out what lies outside.
 *
 * A stack is whole when its last frame is where threads begin: clone, start_thread, _start and their like in C; for stacks that
 * stop at the last Java frame, as async-profiler's do, a method run (Thread's or of a class made of it), main or Thread.exit. Others that the JVM
 * calls by itself, as loadClass and class initialisers, have callers further down.
 */
public class Stacks {
    static final List<String> ENTRIES = List.of("clone", "__clone", "clone3", "__clone3", "start_thread", "_start", "__libc_start_main",
        "__libc_start_call_main", "__libc_start_main_impl", "__libc_start_main_alias_2", "thread_native_entry", "ThreadJavaMain", "JavaMain",
        "call_start_thread", "entry_SYSCALL_64", "ret_from_fork", "ret_from_fork_asm");

    /** What is said of a stack, without its event. */
    static class Kind {
        int depth;
        boolean whole, unknown;
        String marks = "";
    }

    static final long FROM = Long.getLong("from", 0), TO = Long.getLong("to", Long.MAX_VALUE);
    static final Map<RecordedStackTrace, Kind> seen = new IdentityHashMap<>();
    static final Map<String, long[]> sums = new HashMap<>();

    static String name(RecordedFrame f) {
        return f.getMethod().getName();
    }

    static String full(RecordedFrame f) {
        String type = f.getMethod().getType() == null ? "" : f.getMethod().getType().getName();
        return type + "." + name(f);
    }

    static boolean isJava(RecordedFrame f) {
        String t = f.getType();
        return t.equals("Interpreted") || t.equals("JIT compiled") || t.equals("Inlined") || t.equals("C1 compiled") || t.equals("OSR");
    }

    static boolean isEntry(RecordedFrame f) {
        String n = name(f);
        int at = n.indexOf('@'), plus = n.indexOf('+');
        if (at > 0 || plus > 0)
            n = n.substring(0, at > 0 && (plus < 0 || at < plus) ? at : plus);
        int paren = n.indexOf('(');
        if (paren > 0)
            n = n.substring(0, paren);
        if (!isJava(f))
            return ENTRIES.contains(n);
        return n.equals("run") || n.equals("main") || full(f).equals("java.lang.Thread.exit");
    }

    /** Code of a known module that has no symbol there ("libc.so.6.0x16713e") is not unknown. */
    static boolean isUnknown(RecordedFrame f) {
        String n = name(f);
        return n == null || n.isEmpty() || n.startsWith("[unknown") || n.startsWith("unknown") || n.startsWith("break_") || n.startsWith("not_walkable")
            || n.startsWith("skipped") || n.startsWith("[frame") || n.startsWith("[broken");
    }

    static Kind judge(RecordedStackTrace trace, String[] marks) {
        Kind k = new Kind();
        List<RecordedFrame> frames = trace == null ? List.of() : trace.getFrames();
        TreeSet<String> found = new TreeSet<>();
        k.depth = frames.size();
        k.unknown = frames.isEmpty();
        for (RecordedFrame f : frames) {
            k.unknown |= isUnknown(f);
            for (int i = 1; i < marks.length; i++)
                if (full(f).equals(marks[i]))
                    found.add(marks[i]);
        }
        k.marks = String.join(",", found);
        k.whole = !frames.isEmpty() && isEntry(frames.get(frames.size() - 1));
        return k;
    }

    static String thread(RecordedEvent e) {
        RecordedThread t = e.hasField("sampledThread") ? e.getThread("sampledThread") : null;
        if (t == null)
            return "";
        return t.getJavaName() != null ? t.getJavaName() : String.valueOf(t.getOSName());
    }

    static void show(RecordedEvent e, Kind k) {
        StringBuilder out = new StringBuilder((k.whole ? "unknown" : "broken") + "\t" + thread(e));
        RecordedStackTrace trace = e.getStackTrace();
        if (trace != null)
            for (RecordedFrame f : trace.getFrames())
                out.append('\t').append(full(f)).append(" [").append(f.getType()).append(']');
        System.out.println(out);
    }

    static void add(RecordedEvent e, String[] args) {
        String type = e.getEventType().getName();
        long at = e.getStartTime().getEpochSecond() * 1_000_000_000L + e.getStartTime().getNano();
        if (at < FROM || at > TO)
            return;
        RecordedStackTrace trace = e.getStackTrace();
        Kind k = seen.computeIfAbsent(trace, t -> judge(t, args));
        if (args.length > 1 && args[1].equals("-broken")) {
            if (!k.whole || k.unknown)
                show(e, k);
            return;
        }
        String key = type + "\t" + thread(e) + "\t" + (e.hasField("state") ? e.getString("state") : "") + "\t%s\t" + k.depth + "\t"
            + (k.whole ? 1 : 0) + "\t" + (k.unknown ? 1 : 0) + "\t" + (trace != null && trace.isTruncated() ? 1 : 0) + "\t" + k.marks;
        long[] sum = sums.computeIfAbsent(key, x -> new long[3]);
        sum[0]++;
        sum[1] += e.hasField("samples") ? e.getInt("samples") : 1;
        sum[2] += e.hasField("timeSpan") ? e.getDuration("timeSpan").toNanos() : 0;
    }

    public static void main(String[] args) throws Exception {
        long lost = 0;
        try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
            while (file.hasMoreEvents()) {
                RecordedEvent e = file.readEvent();
                String type = e.getEventType().getName();
                if (type.equals("jdk.ExecutionSample") || type.equals("profiler.WallClockSample"))
                    add(e, args);
                else if (type.equals("sparkprof.Counts"))
                    lost = e.getLong("lost");
            }
        }
        sums.forEach((key, sum) -> System.out.println(sum[0] + "\t" + key.replace("%s", sum[1] + "\t" + sum[2])));
        if (args.length < 2 || !args[1].equals("-broken"))
            System.out.println(lost + "\tlost\t\t\t0\t0\t0\t0\t0\t0\t");
    }
}
