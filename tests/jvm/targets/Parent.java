/** Starts a program as its child and waits for it; "ready" comes from there. */
public class Parent {
    public static void main(String[] command) throws Exception {
        System.exit(new ProcessBuilder(command).inheritIO().start().waitFor());
    }
}
