import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.List;

/** Waits for locks of native code as lines of stdin say: "load LIBRARY", "mutex N", "timed N", "read N", "write N", "cond N",
 *  "condtimed N" (waits of 20 ms), "alone N", "crowd", "errors", "robust". */
public class NativeLocks {
    static final List<String> KINDS = Arrays.asList("mutex", "timed", "read", "write", "cond", "condtimed");

    static native void rounds(long kind, long count);

    static native void alone(long count);

    static native void crowd();

    static native void errors();

    static native void robust();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        if (args.length > 0) System.load(args[0]);
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;) {
            String[] w = line.split(" ");
            if (w[0].equals("load")) System.load(w[1]);
            else if (w[0].equals("alone")) alone(Long.parseLong(w[1]));
            else if (w[0].equals("crowd")) crowd();
            else if (w[0].equals("errors")) errors();
            else if (w[0].equals("robust")) robust();
            else rounds(KINDS.indexOf(w[0]), Long.parseLong(w[1]));
            System.out.println("did " + line);
        }
    }
}
