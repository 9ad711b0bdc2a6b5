import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Says at each line of its input what the process shares among all who live in it (native/hoststate.c), and works meanwhile. */
public class HostState {
    static volatile Object sink;
    static final Object lock = new Object();

    static native String state();

    static int touch(int i) {
        return i % 1000;
    }

    static void work() {
        for (int i = 0;; i++) {
            synchronized (lock) {
                sink = new byte[touch(i)];
            }
            if (i % 10000 == 0)
                Thread.yield();
        }
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        for (int i = 0; i < 2; i++) {
            Thread t = new Thread(HostState::work, "work-" + i);
            t.setDaemon(true);
            t.start();
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;)
            System.out.println("state " + line + " " + state() + " end");
    }
}
