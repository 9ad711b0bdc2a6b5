import java.util.Scanner;

/**
 * Native threads that attach themselves and stay: the first line on stdin lets them come, the next lets them go, and so on. Its
 * argument is the library of tests/jvm/native/attachers.c.
 */
public class Attachers {
    static native void come();

    static native void go();

    public static void main(String[] args) {
        System.load(args[0]);
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        for (int turn = 1; in.hasNextLine(); turn++) {
            in.nextLine();
            if (turn % 2 == 1)
                come();
            else
                go();
            System.out.println("turn " + turn);
        }
    }
}
