import org.apache.spark.sql.api.java.UDF1;

/** Keeps the newest of a few million small objects, each in a place of chance: a heap that a collector has much to do with. */
public class Hold implements UDF1<Long, Long> {
    private static final Object[] kept = new Object[3_200_000];

    @Override
    public Long call(Long id) {
        long h = id;
        for (int i = 0; i < 8; i++) {
            h = h * 6364136223846793005L + 1442695040888963407L;
            kept[(int) ((h >>> 33) % kept.length)] = new long[6];
        }
        return h;
    }
}
