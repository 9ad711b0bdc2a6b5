/**
 * A thread "worker" that does nothing but allocate: short lists of small objects and arrays, about 160 KiB a unit. On each line of its
 * standard input it prints "units N": how many were done so far.
 */
public class AllocWork {
    static final class Node {
        final Node next;
        final int[] data;

        Node(Node next, int size) {
            this.next = next;
            this.data = new int[size];
        }
    }

    static volatile long units;
    static volatile Object sink;

    static void unit() {
        for (int i = 0; i < 16; i++) {
            Node list = null;
            for (int k = 0; k < 64; k++)
                list = new Node(list, 8 + k);
            sink = list;
        }
    }

    public static void main(String[] args) throws Exception {
        Thread t = new Thread(() -> {
            for (;;) {
                unit();
                units = units + 1;
            }
        }, "worker");
        t.setDaemon(true);
        t.start();
        System.out.println("ready");
        while (System.in.read() >= 0)
            System.out.println("units " + units);
    }
}
