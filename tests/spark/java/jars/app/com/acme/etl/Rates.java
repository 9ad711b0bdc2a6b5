package com.acme.etl;

import org.apache.spark.sql.api.java.UDF1;

/** A UDF of which one call at a time may run in an executor: all tasks but one wait for the same monitor. */
public final class Rates implements UDF1<Long, Long> {
    private static final Object TABLE = new Object();

    private static long lookUp(long x) {
        for (int i = 0; i < 40_000; i++)
            x = x * 2862933555777941757L + 3037000493L ^ x >>> 13;
        return x;
    }

    @Override
    public Long call(Long id) {
        synchronized (TABLE) {
            return lookUp(id);
        }
    }
}
