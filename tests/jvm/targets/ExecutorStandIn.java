package org.apache.spark.executor;

/** What a command line shows of an executor: its main class and its words. Runs tasks of one stage for ever. */
class CoarseGrainedExecutorBackend {
    public static void main(String[] args) throws Exception {
        org.apache.spark.OneStage.main(new String[] {"20"});
    }
}
