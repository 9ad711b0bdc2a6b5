import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;

/** Allocates native memory as lines of stdin say: "load LIBRARY", "loaduse LIBRARY" (and "some 20 50000 0" at once),
 *  "some COUNT SIZE EVERY", "refused COUNT SIZE", "map COUNT SIZE EVERY", "each SIZE", "fork", "open LIBRARY" (natively), "openall LIB,LIB" (by a
 *  thread each), "direct COUNT SIZE", "others COUNT SIZE" (freed by a thread "freer"), "threads COUNT". */
public class Mallocs {
    static native long some(long count, long size, long every);

    static native void map(long count, long size, long every);

    static native void each(long size);

    static native void refused(long count, long size);

    static native int forked();

    static native void others(long count, long size);

    static native void freeThose(long count);

    static native void open(String library);

    static native long threads(long count);

    static final ArrayList<ByteBuffer> kept = new ArrayList<>();

    static void direct(int count, int size) {
        for (int i = 0; i < count; i++) kept.add(ByteBuffer.allocateDirect(size));
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        if (args.length > 0) System.load(args[0]);
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;) {
            String[] w = line.split(" ");
            if (w[0].equals("load")) System.load(w[1]);
            else if (w[0].equals("some")) some(Long.parseLong(w[1]), Long.parseLong(w[2]), Long.parseLong(w[3]));
            else if (w[0].equals("map")) map(Long.parseLong(w[1]), Long.parseLong(w[2]), Long.parseLong(w[3]));
            else if (w[0].equals("refused")) refused(Long.parseLong(w[1]), Long.parseLong(w[2]));
            else if (w[0].equals("each")) each(Long.parseLong(w[1]));
            else if (w[0].equals("threads")) System.out.println("calls " + threads(Long.parseLong(w[1])));
            else if (w[0].equals("open")) open(w[1]);
            else if (w[0].equals("openall")) {
                ArrayList<Thread> all = new ArrayList<>();
                for (String lib : w[1].split(",")) all.add(new Thread(() -> open(lib)));
                for (Thread t : all) t.start();
                for (Thread t : all) t.join();
            } else if (w[0].equals("loaduse")) {
                System.load(w[1]);
                some(20, 50000, 0);
            } else if (w[0].equals("fork")) System.out.println("child " + forked());
            else if (w[0].equals("others")) {
                others(Long.parseLong(w[1]), Long.parseLong(w[2]));
                Thread t = new Thread(() -> freeThose(Long.parseLong(w[1])), "freer");
                t.start();
                t.join();
            } else if (w[0].equals("direct")) direct(Integer.parseInt(w[1]), Integer.parseInt(w[2]));
            System.out.println("did " + line);
        }
    }
}
