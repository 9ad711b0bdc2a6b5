/**
 * Threads that spin, sleep and wait for a lock in turn, and keep the time of each by System.nanoTime. Arguments: threads that only spin, threads
 * that only sleep, threads that only wait, threads that do all three. On each line of standard input it prints "truth N" and six sums in ns with the
 * pieces under way: spin, sleep and lock of the threads that do one thing, then of those that do all three.
 */
public class WallTruth {
    static final Object LOCK = new Object();
    static volatile long sink;

    /** One thread's account: the piece under way and the sums of the ended ones. */
    static class Account {
        final long[] sums = new long[3];
        int kind;
        long since = System.nanoTime();

        synchronized void turn(int next) {
            long now = System.nanoTime();
            sums[kind] += now - since;
            kind = next;
            since = now;
        }

        synchronized void addTo(long[] total) {
            long now = System.nanoTime();
            for (int i = 0; i < 3; i++)
                total[i] += sums[i] + (i == kind ? now - since : 0);
        }
    }

    static void spinning(long until) {
        long x = 1;
        while (System.nanoTime() < until)
            for (int i = 0; i < 2000; i++)
                x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    static void sleeping(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            sink++;
        }
    }

    static void locking(long ms) {
        synchronized (LOCK) {
            try {
                LOCK.wait(ms);
            } catch (InterruptedException e) {
                sink++;
            }
        }
    }

    static void run(Account a, boolean spin, boolean sleep, boolean lock) {
        for (long i = 1;; i++) {
            long ms = 3 + i * 7919 % 23; // no rhythm that a sampler could fall into

            if (spin) {
                a.turn(0);
                spinning(System.nanoTime() + ms * 1_000_000);
            }
            if (sleep) {
                a.turn(1);
                sleeping(ms);
            }
            if (lock) {
                a.turn(2);
                locking(ms);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int[] n = new int[4];
        for (int i = 0; i < 4; i++)
            n[i] = Integer.parseInt(args[i]);
        Account[] accounts = new Account[n[0] + n[1] + n[2] + n[3]];
        for (int kind = 0, k = 0; kind < 4; kind++)
            for (int i = 0; i < n[kind]; i++) {
                Account a = accounts[k++] = new Account();
                final int what = kind;
                Thread t = new Thread(() -> run(a, what == 0 || what == 3, what == 1 || what == 3, what == 2 || what == 3), "truth-" + kind + "-" + i);
                t.setDaemon(true);
                t.start();
            }
        System.out.println("ready");
        int asked = 0;
        for (int c; (c = System.in.read()) >= 0;)
            if (c == '\n') {
                long[] pure = new long[3], mixed = new long[3];
                for (int i = 0; i < accounts.length; i++)
                    accounts[i].addTo(i < accounts.length - n[3] ? pure : mixed);
                System.out.println(String.format("truth %d %d %d %d %d %d %d", ++asked, pure[0], pure[1], pure[2], mixed[0], mixed[1], mixed[2]));
            }
    }
}
