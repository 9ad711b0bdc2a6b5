class TaskContext:
    """As Spark's: one object, whose attributes change from task to task."""
    _taskContext = None

    def __init__(self):
        self._attemptNumber = self._cpus = self._localProperties = self._partitionId = self._resources = self._stageId = self._taskAttemptId = None

    def begin(self, number):
        self._stageId, self._partitionId, self._attemptNumber, self._taskAttemptId = number // 100, number % 100, 0, 1000 + number
