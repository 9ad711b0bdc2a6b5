package io.github.sparkprof;

import java.io.IOException;

/**
 * libsparkprof.so from Java: commands, and marks of the program's own in the recording.
 *
 * <p>A JVM that was started with -agentpath:…/libsparkprof.so has the library already. Any other loads it by the system property
 * sparkprof.library, which names the file, by {@link #load}, or as a library called sparkprof on java.library.path.
 */
public final class Sparkprof {
    private static boolean loaded;

    private Sparkprof() {}

    /** Loads the library from this file, unless it is there. */
    public static synchronized void load(String file) {
        if (loaded || isBound()) return;
        System.load(file);
        loaded = true;
    }

    private static synchronized void load() {
        if (loaded || isBound()) return;
        String file = System.getProperty("sparkprof.library");
        if (file != null) System.load(file);
        else System.loadLibrary("sparkprof");
        loaded = true;
    }

    private static boolean isBound() {
        try {
            now0();
            loaded = true;
        } catch (UnsatisfiedLinkError e) {
            return false;
        }
        return true;
    }

    /**
     * Runs a command, words as behind -agentpath: "start,event=wall,file=/tmp/x.jfr", "stop", "dump,file=/tmp/x.html", "stop,collapsed",
     * "status", "version". Returns what it gives back, such as a report without file=.
     *
     * @throws IllegalArgumentException a word is wrong
     * @throws IllegalStateException nothing is recorded, or somebody else records
     * @throws IOException an output cannot be written
     */
    public static String execute(String command) throws IOException {
        load();
        return execute0(command);
    }

    /** What the calling thread does until it closes this is marked with the tag (at most 95 bytes): try (Span s = Sparkprof.span("load")) … */
    public static Span span(String tag) {
        load();
        return new Span(tag, now0());
    }

    /** A time in which a thread works on something: profiler.Span in the recording. To be closed by the thread that opened it. */
    public static final class Span implements AutoCloseable {
        private final String tag;
        private final long since;

        private Span(String tag, long since) {
            this.tag = tag;
            this.since = since;
        }

        @Override
        public void close() {
            span0(since, tag);
        }
    }

    private static native String execute0(String command) throws IOException;

    private static native long now0();

    private static native void span0(long since, String tag);
}
