/** Prints "ready" and waits for its standard input to end. */
public class Idle {
    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
    }
}
