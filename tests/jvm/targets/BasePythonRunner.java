package org.apache.spark.api.python;

/** Waits in a class that is called like the one by which Spark reads from its Python workers. */
public class BasePythonRunner {
    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
    }
}
