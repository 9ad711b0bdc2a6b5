package org.apache.spark;

/** Tasks of one stage, one after the other and without end, as Spark 4.2 and later names their threads, each with its context.
 *  Argument: milliseconds of each. Prints a line for each. */
public class OneStage {
    static final ThreadLocal<TaskContextImpl> CONTEXT = new ThreadLocal<>();
    static volatile long sink;

    static void task(int id, long millis) {
        TaskContextImpl context = new TaskContextImpl();
        long end = System.nanoTime() + millis * 1_000_000;
        Thread.currentThread().setName("Executor task launch worker for task " + id + ".0 in stage 5.0 (TID " + id + ")");
        context.partitionId = id;
        context.taskAttemptId = id;
        CONTEXT.set(context);
        while (System.nanoTime() < end)
            sink++;
        CONTEXT.remove();
        Thread.currentThread().setName("Executor task idle worker#" + Thread.currentThread().getId());
        System.out.println("task " + id);
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        System.in.read();
        for (int id = 0;; id++)
            task(id, Long.parseLong(args[0]));
    }
}
