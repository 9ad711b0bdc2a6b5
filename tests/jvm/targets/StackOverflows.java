/** Threads of the default stack size that catch a StackOverflowError, then threads with smaller stacks, again and again. */
public class StackOverflows {
    static volatile int deepest;

    static int down(int n) {
        deepest = n;
        return down(n + 1) + 1;
    }

    static void overflow() {
        try {
            down(0);
        } catch (StackOverflowError e) {
            // as Catalyst's callers do
        }
    }

    static void sleepABit() {
        try {
            Thread.sleep(20);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static void run(Runnable r, long stackSize) throws Exception {
        Thread[] threads = new Thread[12];

        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(null, r, "worker-" + i, stackSize);
            threads[i].start();
        }
        for (Thread t : threads)
            t.join();
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        for (int i = 1;; i++) {
            run(StackOverflows::overflow, 0);
            run(StackOverflows::sleepABit, 300000);
            if (i % 10 == 0)
                System.out.println("rounds " + i);
        }
    }
}
