import java.util.concurrent.*;
import java.util.concurrent.locks.*;

/** Waits for each kind of lock in turn, and says for each two sums in microseconds that its waits lie between: how long calls took
 *  by the waiting thread's clock, and from when the other thread saw that it waits until that one let it go. A line of stdin
 *  begins the next round of so many waits. */
public class Locks {
    static final int HOLD_MS = 20;

    interface Wait {
        void run() throws Exception;
    }

    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static final ReentrantReadWriteLock rw = new ReentrantReadWriteLock();
    static final StampedLock stamped = new StampedLock();
    static final Semaphore semaphore = new Semaphore(1);
    static final LinkedBlockingQueue<Integer> queue = new LinkedBlockingQueue<>();

    static void sleep(int ms) throws InterruptedException {
        Thread.sleep(ms);
    }

    /** Takes, in another thread, what @hold takes and gives it back; meanwhile waits for it by @wait. Returns ns waited. */
    static long one(Wait hold, Wait wait) throws Exception {
        CountDownLatch held = new CountDownLatch(1);
        waiter = Thread.currentThread();
        Thread t = new Thread(() -> {
            try {
                hold.run();
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }, "holder-" + ++holders);
        Locks.held = held;
        t.start();
        while (held.getCount() > 0) Thread.onSpinWait();
        long from = System.nanoTime();
        wait.run();
        long took = System.nanoTime() - from;
        t.join();
        return took;
    }

    static volatile CountDownLatch held;
    static volatile Thread waiter;
    static volatile long seen;
    static int holders;

    static void hold() throws InterruptedException {
        held.countDown();
        while (waiter.getState() == Thread.State.RUNNABLE) sleep(1);
        long from = System.nanoTime();
        sleep(HOLD_MS);
        seen += System.nanoTime() - from;
    }

    static long monitor() throws Exception {
        return one(() -> { synchronized (monitor) { hold(); } }, () -> { synchronized (monitor) { } });
    }

    static long reentrant() throws Exception {
        return one(() -> { lock.lock(); hold(); lock.unlock(); }, () -> { lock.lock(); lock.unlock(); });
    }

    static long readwrite() throws Exception {
        return one(() -> { rw.writeLock().lock(); hold(); rw.writeLock().unlock(); },
            () -> { rw.readLock().lock(); rw.readLock().unlock(); });
    }

    static long stamped() throws Exception {
        return one(() -> { long s = stamped.writeLock(); hold(); stamped.unlockWrite(s); },
            () -> stamped.unlockRead(stamped.readLock()));
    }

    static long semaphore() throws Exception {
        return one(() -> { semaphore.acquire(); hold(); semaphore.release(); },
            () -> { semaphore.acquire(); semaphore.release(); });
    }

    static long latch() throws Exception {
        CountDownLatch latch = new CountDownLatch(1);
        return one(() -> { hold(); latch.countDown(); }, latch::await);
    }

    static long condition() throws Exception {
        Condition c = lock.newCondition();
        boolean[] done = {false};
        return one(() -> { hold(); lock.lock(); done[0] = true; c.signal(); lock.unlock(); },
            () -> { lock.lock(); while (!done[0]) c.await(); lock.unlock(); });
    }

    static long future() throws Exception {
        CompletableFuture<Integer> f = new CompletableFuture<>();
        return one(() -> { hold(); f.complete(1); }, f::get);
    }

    static long queue() throws Exception {
        return one(() -> { hold(); queue.put(1); }, queue::take);
    }

    /** Up to JDK 23 a virtual thread that has a monitor keeps its carrier while it waits. */
    static long pinned() throws Exception {
        CountDownLatch latch = new CountDownLatch(1);
        synchronized (queue) {
            return one(() -> { hold(); latch.countDown(); }, latch::await);
        }
    }

    static long asleep() throws Exception {
        sleep(HOLD_MS);
        return 0;
    }

    interface Kind {
        long run() throws Exception;
    }

    static void round(String name, int times, Kind kind) throws Exception {
        long sum = seen = 0;
        for (int i = 0; i < times; i++) sum += kind.run();
        System.out.println(name + " " + sum / 1000 + " " + seen / 1000);
    }

    /** With an argument everything is waited for in a virtual thread (JDK 21), which has that name. */
    public static void main(String[] args) throws Exception {
        if (args.length == 0) {
            rounds(false);
            return;
        }
        Virtual.start(args[0], () -> {
            try {
                rounds(true);
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }).join();
    }

    static void rounds(boolean virtual) throws Exception {
        java.io.BufferedReader in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        ExecutorService pool = Executors.newFixedThreadPool(2);
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;) {
            int times = Integer.parseInt(line.trim());
            for (int i = 0; i < 4; i++) pool.submit(() -> 1).get();
            round("monitor", times, Locks::monitor);
            round("reentrant", times, Locks::reentrant);
            round("readwrite", times, Locks::readwrite);
            round("stamped", times, Locks::stamped);
            round("semaphore", times, Locks::semaphore);
            round("latch", times, Locks::latch);
            round("condition", times, Locks::condition);
            round("future", times, Locks::future);
            round("queue", times, Locks::queue);
            if (virtual) round("pinned", times, Locks::pinned);
            if (virtual) round("asleep", times, Locks::asleep);
            System.out.println("done");
        }
    }
}
