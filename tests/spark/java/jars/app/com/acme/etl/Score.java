package com.acme.etl;

import org.apache.spark.sql.api.java.UDF1;

/** A UDF that computes for long, by itself and without a lock. */
public final class Score implements UDF1<Long, Long> {
    @Override
    public Long call(Long id) {
        long x = id;
        for (int i = 0; i < 40_000; i++)
            x = x * 2862933555777941757L + 3037000493L ^ x >>> 13;
        return x;
    }
}
