/** For each line on its input starts a thread of that name, which spins until the program ends. */
import java.io.BufferedReader;
import java.io.InputStreamReader;

public class Late {
    static volatile long sink;

    static void spin() {
        for (;;)
            sink += Split.spin(1);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String name; (name = in.readLine()) != null;) {
            Thread t = new Thread(Late::spin, name);
            t.setDaemon(true);
            t.start();
        }
    }
}
