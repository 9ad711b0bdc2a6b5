import java.io.BufferedReader;
import java.io.InputStreamReader;

/** On each line of stdin allocates so many objects of 1 KiB and keeps one in so many ("200000 10"), in an array that
 *  the next line lets go; then collects, and says how many bytes of them are alive. At most 250 objects, or as many as a
 *  third number says, in a millisecond. */
public class Live {
    static Object sink;
    static Object[] kept;

    static Object keep() {
        return new byte[1024 - 16];
    }

    static Object drop() {
        return new byte[1024 - 16];
    }

    static void work(int count, int every, int pace) throws InterruptedException {
        kept = new Object[count / every];
        for (int i = 0, k = 0; i < count; i++) {
            if (i % pace == 0) Thread.sleep(1);
            if (i % every == 0 && k < kept.length) kept[k++] = keep();
            else sink = drop();
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;) {
            String[] words = line.split(" ");
            work(Integer.parseInt(words[0]), Integer.parseInt(words[1]), words.length > 2 ? Integer.parseInt(words[2]) : 250);
            sink = null;
            System.gc();
            System.gc();
            System.out.println("live " + kept.length * 1024L);
        }
    }
}
