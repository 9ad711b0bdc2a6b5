package org.apache.spark;

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Properties;

/**
 * A program that has Spark's configuration only when a line comes in, with "later" two seconds after its start, or with "now" at once, by the
 * names and methods that Spark has for it. Given "now" or "later", it also has a UI that tells names, at a port that it prints and that its
 * configuration names, and runs a task when a line comes in.
 */
public class SparkEnv {
    static final long BEGUN = System.nanoTime();
    static volatile long wait = Long.MAX_VALUE;
    static int port;
    static final ThreadLocal<TaskContextImpl> CONTEXT = new ThreadLocal<>();

    public static SparkEnv get() {
        return System.nanoTime() - BEGUN >= wait ? new SparkEnv() : null;
    }

    public SparkConf conf() {
        return new SparkConf();
    }

    static String answer(String path) {
        switch (path) {
        case "/api/v1/applications/app-late":
            return "{}";
        case "/api/v1/applications/app-late/stages/5?details=false":
            return "[{\"stageId\":5,\"attemptId\":0,\"name\":\"collect at Main.java:7\"}]";
        case "/api/v1/applications/app-late/jobs":
            return "[{\"jobId\":3,\"stageIds\":[5]}]";
        case "/api/v1/applications/app-late/sql/12?details=false&planDescription=false":
            return "{\"description\":\"SELECT 1\"}";
        default:
            return null;
        }
    }

    static void serve() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", e -> {
            String text = answer(e.getRequestURI().toString());
            e.sendResponseHeaders(text == null ? 404 : 200, text == null ? -1 : text.length());
            if (text != null)
                e.getResponseBody().write(text.getBytes());
            e.close();
        });
        server.start();
        port = server.getAddress().getPort();
        System.out.println("port " + port + ".");
    }

    static void task() throws Exception {
        Thread.currentThread().setName("Executor task launch worker for task 0.0 in stage 5.0 (TID 9)");
        CONTEXT.set(new TaskContextImpl());
        Thread.sleep(1000);
        CONTEXT.remove();
        Thread.currentThread().setName("Executor task idle worker#1");
        System.out.println("done");
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            wait = args[0].equals("now") ? 0 : 2_000_000_000L;
            serve();
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
            if (args.length > 0)
                task();
            else
                wait = 0;
        }
    }
}

class SparkConf {
    public String get(String key, String otherwise) {
        return Map.of("spark.app.id", "app-late", "spark.app.name", "came later", "spark.executor.id", "driver", "spark.ui.port", "" + SparkEnv.port)
            .getOrDefault(key, otherwise);
    }
}
