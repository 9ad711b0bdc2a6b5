/** The same from C, by tests/jvm/native/apiuser.c: "ready", then what it found. */
public class NativeApi {
    static native String use(String library, String file, String copy);

    public static void main(String[] args) {
        System.load(args[0]);
        System.out.println("ready");
        System.out.println(use(args[1], args[2], args[3]));
    }
}
