import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** A small job for the demo where no Spark can be had: counts words of made-up lines in two threads until its input ends. */
public class DemoWork {
    static List<String> readLines(Random random) {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            StringBuilder line = new StringBuilder();
            for (int w = 0; w < 12; w++) {
                line.append("word").append(random.nextInt(500)).append(' ');
            }
            lines.add(line.toString());
        }
        return lines;
    }

    static Map<String, Integer> countWords(List<String> lines) {
        Map<String, Integer> counts = new HashMap<>();
        for (String line : lines) {
            for (String word : line.split(" ")) {
                counts.merge(word, 1, Integer::sum);
            }
        }
        return counts;
    }

    static void work(long seed) {
        Random random = new Random(seed);
        while (true) {
            if (countWords(readLines(random)).isEmpty()) {
                throw new AssertionError();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 2; i++) {
            long seed = i;
            Thread t = new Thread(() -> work(seed), "counter-" + i);
            t.setDaemon(true);
            t.start();
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
    }
}
