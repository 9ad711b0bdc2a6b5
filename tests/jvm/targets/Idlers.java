/** Many threads that wait for ever. */
import java.util.concurrent.locks.LockSupport;

public class Idlers {
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            Thread t = new Thread(null, () -> {
                while (true)
                    LockSupport.park();
            }, "idler-" + i, 128 << 10);
            t.setDaemon(true);
            t.start();
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
    }
}
