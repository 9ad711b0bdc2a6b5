package org.apache.spark;

import java.util.Properties;

/** The fields of Spark's class that tell a task. */
class TaskContextImpl {
    int stageId = 5, stageAttemptNumber, partitionId, attemptNumber;
    long taskAttemptId = 9;
    Properties localProperties = new Properties();

    TaskContextImpl() {
        localProperties.setProperty("spark.sql.execution.id", "12");
    }
}
