import com.sun.tools.attach.VirtualMachine;
import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Loads agents the JDK's own way: for each line "PID LIBRARY OPTIONS" prints how many nanoseconds attach took, and how many the
 * load. One process for all rounds, so that its own start is not charged to the library.
 */
public class AttachLoad {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;) {
            String[] words = line.split(" ", 3);
            long start = System.nanoTime();
            VirtualMachine vm = VirtualMachine.attach(words[0]);
            long attached = System.nanoTime();
            vm.loadAgentPath(words[1], words[2]);
            long loaded = System.nanoTime();
            vm.detach();
            System.out.println((attached - start) + " " + (loaded - attached));
        }
    }
}
