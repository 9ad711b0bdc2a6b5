import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.Socket;

/** Starts a daemon that leaves a worker behind, and waits for that worker's socket in a thread that is called as one of Spark's tasks. */
public class Orphan {
    public static void main(String[] command) throws Exception {
        Process daemon = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        int port = Integer.parseInt(new BufferedReader(new InputStreamReader(daemon.getInputStream())).readLine());
        daemon.waitFor();
        Socket worker = new Socket("127.0.0.1", port);
        new Thread(() -> {
            try {
                worker.getInputStream().read();
            } catch (Exception e) {
                System.out.println(e);
            }
        }, "Executor task launch worker for task 0.0 in stage 5.0 (TID 7)").start();
        System.out.println("ready");
    }
}
