import java.io.*;
import java.net.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;

/** A thread in each kind of wait, for so many seconds. */
public class ManyWaits {
    interface Body { void run() throws Exception; }

    static void start(String name, Body b) {
        Thread t = new Thread(() -> { try { while (true) b.run(); } catch (Exception e) { e.printStackTrace(); } }, name);
        t.setDaemon(true);
        t.start();
    }

    static void deeper(int n, Body b) throws Exception { if (n == 0) b.run(); else deeper(n - 1, b); }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        Object o = new Object(), held = new Object();
        ReentrantLock lock = new ReentrantLock();
        Condition never = lock.newCondition();
        BlockingQueue<String> queue = new LinkedBlockingQueue<>();
        ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket peer = server.accept();
        Selector selector = Selector.open();
        Pipe pipe = Pipe.open();
        PipedInputStream piped = new PipedInputStream(new PipedOutputStream());
        Process child = new ProcessBuilder("sleep", "600").start();
        Runtime.getRuntime().addShutdownHook(new Thread(child::destroyForcibly));

        start("sleep", () -> deeper(20, () -> Thread.sleep(60000)));
        start("sleep-short", () -> Thread.sleep(3));
        start("wait", () -> { synchronized (o) { o.wait(); } });
        start("wait-timed", () -> { synchronized (o) { deeper(5, () -> o.wait(50000)); } });
        start("park", LockSupport::park);
        start("park-timed", () -> LockSupport.parkNanos(50_000_000_000L));
        start("queue", queue::take);
        start("queue-timed", () -> queue.poll(50, TimeUnit.SECONDS));
        start("condition", () -> { lock.lock(); try { never.await(); } finally { lock.unlock(); } });
        start("latch", () -> new CountDownLatch(1).await());
        start("future", () -> new CompletableFuture<String>().get());
        start("holder", () -> { synchronized (held) { Thread.sleep(100000); } });
        Thread.sleep(100);
        start("monitor", () -> { synchronized (held) { o.hashCode(); } });
        start("monitor-deep", () -> deeper(30, () -> { synchronized (held) { o.hashCode(); } }));
        start("accept", server::accept);
        start("read", () -> client.getInputStream().read());
        start("read-timed", () -> { peer.setSoTimeout(50000); peer.getInputStream().read(); });
        start("select", () -> selector.select());
        start("select-timed", () -> Selector.open().select(50000));
        start("pipe", () -> pipe.source().read(java.nio.ByteBuffer.allocate(10)));
        start("piped", () -> { synchronized (piped) { piped.wait(); } });
        start("stdin", () -> System.in.read());
        start("waitFor", child::waitFor);
        start("child-out", () -> child.getInputStream().read());
        start("join", () -> Thread.currentThread().join());
        start("exchanger", () -> new Exchanger<String>().exchange("x"));
        start("barrier", () -> new CyclicBarrier(2).await());
        start("semaphore", () -> new Semaphore(0).acquire());
        start("file-lock", () -> Thread.sleep(99999));
        ExecutorService pool = Executors.newFixedThreadPool(3, r -> { Thread t = new Thread(r); t.setDaemon(true); return t; });
        for (int i = 0; i < 3; i++) pool.submit(() -> 1);
        System.out.println("ready");
        Thread.sleep(seconds * 1000L);
        child.destroyForcibly();
    }
}
