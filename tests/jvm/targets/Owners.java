import java.util.concurrent.*;
import java.util.concurrent.locks.*;

/** Threads that wait for locks for good: one for a monitor, one for a ReentrantLock, whose owner waits for that monitor itself, and one
 *  for a semaphore, which has no owner. "ready" once all of them wait. */
public class Owners {
    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static final Semaphore semaphore = new Semaphore(0);

    interface Body {
        void run() throws Exception;
    }

    static Thread start(String name, Body body) {
        Thread t = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }, name);
        t.setDaemon(true);
        t.start();
        return t;
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch held = new CountDownLatch(2);
        start("has-monitor", () -> {
            synchronized (monitor) {
                held.countDown();
                Thread.sleep(Long.MAX_VALUE);
            }
        });
        Thread[] waits = {
            start("has-lock", () -> {
                lock.lock();
                held.countDown();
                while (held.getCount() > 0) Thread.sleep(1);
                synchronized (monitor) {
                    lock.unlock();
                }
            }),
            start("wants-monitor", () -> {
                held.await();
                synchronized (monitor) {
                    System.out.println("never");
                }
            }),
            start("wants-lock", () -> {
                held.await();
                lock.lock();
            }),
            start("wants-permit", () -> {
                held.await();
                semaphore.acquire();
            }),
        };
        while (waits[0].getState() != Thread.State.BLOCKED || waits[1].getState() != Thread.State.BLOCKED || !lock.hasQueuedThread(waits[2])
            || waits[2].getState() != Thread.State.WAITING || !semaphore.hasQueuedThreads() || waits[3].getState() != Thread.State.WAITING)
            Thread.sleep(1);
        System.out.println("ready");
        System.in.read();
    }
}
