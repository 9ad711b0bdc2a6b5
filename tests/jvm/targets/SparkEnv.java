package org.apache.spark;

import java.util.Map;

/** A program that has Spark's configuration only two seconds after its start, by the names and methods that Spark has for it. */
public class SparkEnv {
    static final long BEGUN = System.nanoTime();

    public static SparkEnv get() {
        return System.nanoTime() - BEGUN > 2_000_000_000L ? new SparkEnv() : null;
    }

    public SparkConf conf() {
        return new SparkConf();
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        while (System.in.read() >= 0)
            Thread.sleep(1);
    }
}

class SparkConf {
    public String get(String key, String otherwise) {
        return Map.of("spark.app.id", "app-late", "spark.app.name", "came later", "spark.executor.id", "driver").getOrDefault(key, otherwise);
    }
}
