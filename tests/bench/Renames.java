import java.util.Arrays;
import java.util.Scanner;

/**
 * A thread that names itself as a worker of Spark 4.2 does, for a task and back: for each line of standard input prints the median time
 * of a rename, in nanoseconds, over batches of a hundred with a pause between them.
 */
public class Renames {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        Thread me = Thread.currentThread();
        String[] tasks = new String[50];
        System.out.println("ready");
        long tid = 0;
        while (in.hasNextInt()) {
            long[] took = new long[in.nextInt()];
            for (int i = 0; i < took.length; i++) {
                for (int k = 0; k < tasks.length; k++)
                    tasks[k] = "Executor task launch worker for task " + k + ".0 in stage 5.0 (TID " + tid++ + ")";
                long begin = System.nanoTime();
                for (String task : tasks) {
                    me.setName(task);
                    me.setName("Executor task idle worker#42");
                }
                took[i] = (System.nanoTime() - begin) / (2 * tasks.length);
                try {
                    Thread.sleep(1);
                } catch (InterruptedException e) {
                    return;
                }
            }
            Arrays.sort(took);
            System.out.println(took[took.length / 2]);
        }
    }
}
