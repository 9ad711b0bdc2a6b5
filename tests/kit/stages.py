"""The truth about which task ran where and when: an executor's own log lines, with milliseconds and thread ids, and Spark's event log.

    log = stages.Logging(directory)            # log.conf() for spark.App(conf=…)
    truth = log.tasks()                        # [Task(tid, stage, java_id, begin, end)], ns since 1970
"""
import collections
import json
import pathlib
import re

Task = collections.namedtuple("Task", "tid stage index java_id begin end")

LOG4J = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = %s/executor-${sys:executor.number:-x}.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %%d{UNIX_MILLIS} %%T %%m%%n
"""
LINE = re.compile(r"(\d{13}) (\d+) (Running|Finished) task (\d+)\.\d+ in stage (\d+\.\d+) \(TID (\d+)\)")


class Logging:
    def __init__(self, directory):
        self.dir = pathlib.Path(directory)
        (self.dir / "events").mkdir(parents=True, exist_ok=True)
        (self.dir / "log4j2.properties").write_text(LOG4J % self.dir)

    def jvm(self):
        """Options of the executors' JVMs."""
        return f"-Dlog4j2.configurationFile=file:{self.dir}/log4j2.properties -Dexecutor.number={{{{EXECUTOR_ID}}}}"

    def conf(self, **more):
        return {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file:{self.dir}/events", "spark.eventLog.compress": "false",
                "spark.eventLog.rolling.enabled": "false", **more}

    def tasks(self):
        """What ran, by the log lines of all executors."""
        open_, done = {}, []
        for file in self.dir.glob("executor-*.log"):
            for m in map(LINE.match, file.read_text(errors="replace").splitlines()):
                if m and m[3] == "Running":
                    open_[int(m[6])] = int(m[1]) * 1_000_000
                elif m and int(m[6]) in open_:
                    done.append(Task(int(m[6]), m[5], int(m[4]), int(m[2]), open_.pop(int(m[6])), int(m[1]) * 1_000_000))
        return done

    def launched(self):
        """What ran, by the driver's event log: from when it told an executor to until it heard of the end."""
        for e in self.events():
            if e["Event"] == "SparkListenerTaskEnd":
                i = e["Task Info"]
                yield Task(i["Task ID"], f"{e['Stage ID']}.{e['Stage Attempt ID']}", i["Index"], None, i["Launch Time"] * 1_000_000,
                           i["Finish Time"] * 1_000_000)

    def events(self):
        for file in (self.dir / "events").rglob("*"):
            if file.is_file() and not file.name.startswith((".", "appstatus")):
                for line in file.read_text(errors="replace").splitlines():
                    yield json.loads(line)

    def cpu(self):
        """CPU time of tasks by stage, ns, as Spark measured it: {stage: {TID: ns}}."""
        sums = collections.defaultdict(dict)
        for e in self.events():
            if e["Event"] == "SparkListenerTaskEnd" and e.get("Task Metrics"):
                m = e["Task Metrics"]
                sums[f"{e['Stage ID']}.{e['Stage Attempt ID']}"][e["Task Info"]["Task ID"]] = (
                    m["Executor CPU Time"] + m["Executor Deserialize CPU Time"])
        return sums
