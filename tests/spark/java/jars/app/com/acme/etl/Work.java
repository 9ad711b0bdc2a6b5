package com.acme.etl;

import com.google.gson.JsonParser;
import org.apache.spark.sql.api.java.UDF1;
import org.mathlib.Spin;

/** The application's own code, which calls a library of its own and one that Spark brings (Gson), each for about a third of its time. */
public final class Work implements UDF1<Long, Long> {
    private static final String JSON = "[" + "1.5, \"a\", {\"b\": [1, 2, 3]}, ".repeat(160) + "null]";

    private static long own(long x, int rounds) {
        for (int i = 0; i < rounds; i++)
            x = x * 2862933555777941757L + 3037000493L ^ x >>> 13;
        return x;
    }

    @Override
    public Long call(Long id) {
        return own(id, 60_000) + Spin.spin(id, 60_000) + new JsonParser().parse(JSON).getAsJsonArray().size();
    }
}
