/* The table of types that recordings declare: see types.h. Names and fields are what viewers expect
 * (JDK Mission Control, IntelliJ, async-profiler's converter): keep their order. */
#include "jfr/types.h"

#include "base/cleanup.h"

const char *const sp_jfr_state_names[SP_STATES] = {
	[SP_STATE_UNKNOWN] = "STATE_DEFAULT",
	[SP_STATE_RUNNING] = "STATE_RUNNABLE",
	[SP_STATE_RUNNABLE] = "STATE_WAITING_FOR_CPU",
	[SP_STATE_LOCK] = "STATE_LOCK",
	[SP_STATE_NET] = "STATE_NET",
	[SP_STATE_DISK] = "STATE_DISK",
	[SP_STATE_SLEEP] = "STATE_SLEEPING",
	[SP_STATE_POLL] = "STATE_POLL",
	[SP_STATE_BLOCKED] = "STATE_BLOCKED",
};

const char *const sp_jfr_frame_names[SP_JFR_FRAMES] = {
	[SP_JFR_FRAME_INTERPRETED] = "Interpreted",
	[SP_JFR_FRAME_JIT] = "JIT compiled",
	[SP_JFR_FRAME_INLINED] = "Inlined",
	[SP_JFR_FRAME_NATIVE] = "Native",
	[SP_JFR_FRAME_CPP] = "C++",
	[SP_JFR_FRAME_KERNEL] = "Kernel",
	[SP_JFR_FRAME_C1] = "C1 compiled",
};

#define FIELDS(...) ((const struct sp_jfr_field[]){__VA_ARGS__, {NULL}})
#define POOLED(name, type, label)                            \
	{                                                    \
		name, type, SP_JFR_POOL, SP_JFR_PLAIN, label \
	}
#define START                                                           \
	{                                                               \
		"startTime", SP_JFR_LONG, 0, SP_JFR_TICKS, "Start Time" \
	}
#define DURATION                                                          \
	{                                                                 \
		"duration", SP_JFR_LONG, 0, SP_JFR_TICKS_SPAN, "Duration" \
	}
#define THREAD	POOLED("eventThread", SP_JFR_THREAD, "Event Thread")
#define SAMPLED POOLED("sampledThread", SP_JFR_THREAD, "Thread")
#define STACK	POOLED("stackTrace", SP_JFR_STACK_TRACE, "Stack Trace")
#define STATE	POOLED("state", SP_JFR_THREAD_STATE, "Thread State")
#define OBJECT	POOLED("objectClass", SP_JFR_CLASS, "Object Class")
#define TEXT(name, label)                                   \
	{                                                   \
		name, SP_JFR_STRING, 0, SP_JFR_PLAIN, label \
	}
#define LONG(name, unit, label)                   \
	{                                         \
		name, SP_JFR_LONG, 0, unit, label \
	}
#define SINCE LONG("sinceTime", SP_JFR_TICKS, "Counted Since")
#define INT(name, unit, label)                   \
	{                                        \
		name, SP_JFR_INT, 0, unit, label \
	}
#define FLAG(name, label)                                    \
	{                                                    \
		name, SP_JFR_BOOLEAN, 0, SP_JFR_PLAIN, label \
	}
#define ALLOCATED    OBJECT, LONG("allocationSize", SP_JFR_BYTES, "Allocation Size")
#define ALLOCATED_AT LONG("allocationTime", SP_JFR_TICKS, "Allocation Time")
#define RATIO(name, label)                                   \
	{                                                    \
		name, SP_JFR_FLOAT, 0, SP_JFR_PERCENT, label \
	}

#define PRIMITIVE(id, n)   [id] = {.name = n}
#define STRUCT(id, n, ...) [id] = {.name = n, .fields = FIELDS(__VA_ARGS__)}
#define SIMPLE(id, n, ...) \
	[id] = {.name = n, .fields = FIELDS(__VA_ARGS__), .kind = SP_JFR_KIND_SIMPLE}
#define ANNOTATION(id, n) [id] = {.name = n, .kind = SP_JFR_KIND_ANNOTATION}
#define ANNOTATION_OF(id, n, flag)                                                    \
	[id] = {.name = n,                                                            \
		.fields = FIELDS({"value", SP_JFR_STRING, flag, SP_JFR_PLAIN, NULL}), \
		.kind = SP_JFR_KIND_ANNOTATION}
#define EVENT(id, n, l, ...) \
	[id] = {.name = n, .label = l, .category = __VA_ARGS__, .kind = SP_JFR_KIND_EVENT}
#define IN(...)             \
	{                   \
		__VA_ARGS__ \
	}

/* Of work, and of threads that wait for some. */
static const struct sp_jfr_field park_fields[] = {START, DURATION, THREAD, STACK,
	POOLED("parkedClass", SP_JFR_CLASS, "Class Parked On"),
	LONG("timeout", SP_JFR_TICKS_SPAN, "Park Timeout"),
	LONG("until", SP_JFR_EPOCH_MS, "Park Until"),
	LONG("address", SP_JFR_ADDRESS, "Address of Object Parked"), {NULL}};

static const struct sp_jfr_type types[SP_JFR_TYPE_IDS] = {
	PRIMITIVE(SP_JFR_BOOLEAN, "boolean"),
	PRIMITIVE(SP_JFR_CHAR, "char"),
	PRIMITIVE(SP_JFR_FLOAT, "float"),
	PRIMITIVE(SP_JFR_DOUBLE, "double"),
	PRIMITIVE(SP_JFR_BYTE, "byte"),
	PRIMITIVE(SP_JFR_SHORT, "short"),
	PRIMITIVE(SP_JFR_INT, "int"),
	PRIMITIVE(SP_JFR_LONG, "long"),
	PRIMITIVE(SP_JFR_STRING, "java.lang.String"),

	STRUCT(SP_JFR_CLASS, "java.lang.Class",
		POOLED("classLoader", SP_JFR_CLASS_LOADER, "Class Loader"),
		POOLED("name", SP_JFR_SYMBOL, "Name"), POOLED("package", SP_JFR_PACKAGE, "Package"),
		INT("modifiers", SP_JFR_PLAIN, "Access Modifiers")),
	STRUCT(SP_JFR_THREAD, "java.lang.Thread", TEXT("osName", "OS Thread Name"),
		LONG("osThreadId", SP_JFR_PLAIN, "OS Thread Id"),
		TEXT("javaName", "Java Thread Name"),
		LONG("javaThreadId", SP_JFR_PLAIN, "Java Thread Id"),
		POOLED("group", SP_JFR_THREAD_GROUP, "Java Thread Group")),
	STRUCT(SP_JFR_CLASS_LOADER, "jdk.types.ClassLoader", POOLED("type", SP_JFR_CLASS, "Type"),
		POOLED("name", SP_JFR_SYMBOL, "Name")),
	STRUCT(SP_JFR_THREAD_GROUP, "jdk.types.ThreadGroup",
		POOLED("parent", SP_JFR_THREAD_GROUP, "Parent"), TEXT("name", "Name")),
	SIMPLE(SP_JFR_FRAME_TYPE, "jdk.types.FrameType", TEXT("description", "Description")),
	SIMPLE(SP_JFR_THREAD_STATE, "jdk.types.ThreadState", TEXT("name", "Name")),
	STRUCT(SP_JFR_STACK_TRACE, "jdk.types.StackTrace",
		{"truncated", SP_JFR_BOOLEAN, 0, SP_JFR_PLAIN, "Truncated"},
		{"frames", SP_JFR_STACK_FRAME, SP_JFR_ARRAY, SP_JFR_PLAIN, "Stack Frames"}),
	STRUCT(SP_JFR_STACK_FRAME, "jdk.types.StackFrame",
		POOLED("method", SP_JFR_METHOD, "Java Method"),
		INT("lineNumber", SP_JFR_PLAIN, "Line Number"),
		INT("bytecodeIndex", SP_JFR_PLAIN, "Bytecode Index"),
		POOLED("type", SP_JFR_FRAME_TYPE, "Frame Type")),
	STRUCT(SP_JFR_METHOD, "jdk.types.Method", POOLED("type", SP_JFR_CLASS, "Type"),
		POOLED("name", SP_JFR_SYMBOL, "Name"),
		POOLED("descriptor", SP_JFR_SYMBOL, "Descriptor"),
		INT("modifiers", SP_JFR_PLAIN, "Access Modifiers"),
		{"hidden", SP_JFR_BOOLEAN, 0, SP_JFR_PLAIN, "Hidden"}),
	STRUCT(SP_JFR_PACKAGE, "jdk.types.Package", POOLED("name", SP_JFR_SYMBOL, "Name")),
	SIMPLE(SP_JFR_SYMBOL, "jdk.types.Symbol", TEXT("string", "String")),
	SIMPLE(SP_JFR_GC_NAME, "jdk.types.GCName", TEXT("name", "Name")),
	SIMPLE(SP_JFR_GC_CAUSE, "jdk.types.GCCause", TEXT("cause", "Cause")),
	SIMPLE(SP_JFR_GC_WHEN, "jdk.types.GCWhen", TEXT("when", "When")),
	STRUCT(SP_JFR_VIRTUAL_SPACE, "jdk.types.VirtualSpace",
		LONG("start", SP_JFR_ADDRESS, "Start Address"),
		LONG("committedEnd", SP_JFR_ADDRESS, "Committed End Address"),
		LONG("committedSize", SP_JFR_BYTES, "Committed Size"),
		LONG("reservedEnd", SP_JFR_ADDRESS, "Reserved End Address"),
		LONG("reservedSize", SP_JFR_BYTES, "Reserved Size")),

	ANNOTATION_OF(SP_JFR_LABEL, "jdk.jfr.Label", 0),
	ANNOTATION_OF(SP_JFR_CATEGORY, "jdk.jfr.Category", SP_JFR_ARRAY),
	ANNOTATION_OF(SP_JFR_TIMESTAMP, "jdk.jfr.Timestamp", 0),
	ANNOTATION_OF(SP_JFR_TIMESPAN, "jdk.jfr.Timespan", 0),
	ANNOTATION_OF(SP_JFR_DATA_AMOUNT, "jdk.jfr.DataAmount", 0),
	ANNOTATION(SP_JFR_MEMORY_ADDRESS, "jdk.jfr.MemoryAddress"),
	ANNOTATION(SP_JFR_UNSIGNED, "jdk.jfr.Unsigned"),
	ANNOTATION(SP_JFR_PERCENTAGE, "jdk.jfr.Percentage"),
	ANNOTATION(SP_JFR_CONTENT_TYPE, "jdk.jfr.ContentType"),

	EVENT(SP_JFR_EXECUTION_SAMPLE, "jdk.ExecutionSample", "Method Profiling Sample",
		IN("Java Virtual Machine", "Profiling"),
		.fields = FIELDS(START, SAMPLED, STACK, STATE)),
	EVENT(SP_JFR_WALL_SAMPLE, "profiler.WallClockSample", "Wall Clock Sample",
		IN("Java Virtual Machine", "Profiling"),
		.fields = FIELDS(START, SAMPLED, STACK, STATE,
			INT("samples", SP_JFR_COUNT, "Samples"),
			LONG("timeSpan", SP_JFR_TICKS_SPAN, "Time Span"))),
	EVENT(SP_JFR_SPAN, "profiler.Span", "Span", IN("Profiler"),
		.fields = FIELDS(START, DURATION, THREAD, POOLED("tag", SP_JFR_STRING, "Tag"))),
	EVENT(SP_JFR_WINDOW, "profiler.Window", "Profiling Window", IN("Profiler"),
		.fields = FIELDS(START, DURATION, THREAD)),
	EVENT(SP_JFR_ACTIVE_RECORDING, "jdk.ActiveRecording", "Flight Recording",
		IN("Flight Recorder"),
		.fields = FIELDS(START, LONG("id", SP_JFR_PLAIN, "Id"), TEXT("name", "Name"),
			TEXT("destination", "Destination"),
			LONG("maxAge", SP_JFR_MS_SPAN, "Max Age"),
			LONG("maxSize", SP_JFR_BYTES, "Max Size"),
			LONG("recordingStart", SP_JFR_EPOCH_MS, "Start Time"),
			LONG("recordingDuration", SP_JFR_MS_SPAN, "Recording Duration"))),
	EVENT(SP_JFR_ACTIVE_SETTING, "jdk.ActiveSetting", "Recording Setting",
		IN("Flight Recorder"),
		.fields = FIELDS(START, LONG("id", SP_JFR_PLAIN, "Event Id"),
			TEXT("name", "Setting Name"), TEXT("value", "Setting Value"))),
	EVENT(SP_JFR_OS_INFORMATION, "jdk.OSInformation", "OS Information", IN("Operating System"),
		.fields = FIELDS(START, TEXT("osVersion", "OS Version"))),
	EVENT(SP_JFR_CPU_INFORMATION, "jdk.CPUInformation", "CPU Information",
		IN("Operating System", "Processor"),
		.fields = FIELDS(START, TEXT("cpu", "Type"), TEXT("description", "Description"),
			INT("sockets", SP_JFR_COUNT, "Sockets"),
			INT("cores", SP_JFR_COUNT, "Cores"),
			INT("hwThreads", SP_JFR_COUNT, "Hardware Threads"))),
	EVENT(SP_JFR_JVM_INFORMATION, "jdk.JVMInformation", "JVM Information",
		IN("Java Virtual Machine"),
		.fields = FIELDS(START, TEXT("jvmName", "JVM Name"),
			TEXT("jvmVersion", "JVM Version"),
			TEXT("jvmArguments", "JVM Command Line Arguments"),
			TEXT("jvmFlags", "JVM Settings File Arguments"),
			TEXT("javaArguments", "Java Application Arguments"),
			LONG("jvmStartTime", SP_JFR_EPOCH_MS, "JVM Start Time"),
			LONG("pid", SP_JFR_PLAIN, "Process Identifier"))),
	EVENT(SP_JFR_SYSTEM_PROPERTY, "jdk.InitialSystemProperty", "Initial System Property",
		IN("Java Virtual Machine"),
		.fields = FIELDS(START, TEXT("key", "Key"), TEXT("value", "Value"))),
	EVENT(SP_JFR_NATIVE_LIBRARY, "jdk.NativeLibrary", "Native Library",
		IN("Java Virtual Machine", "Runtime"),
		.fields = FIELDS(START, TEXT("name", "Name"),
			LONG("baseAddress", SP_JFR_ADDRESS, "Base Address"),
			LONG("topAddress", SP_JFR_ADDRESS, "Top Address"))),
	EVENT(SP_JFR_GC_CONFIGURATION, "jdk.GCConfiguration", "GC Configuration",
		IN("Java Virtual Machine", "GC", "Configuration"),
		.fields = FIELDS(START, TEXT("youngCollector", "Young Garbage Collector"),
			TEXT("oldCollector", "Old Garbage Collector"),
			INT("parallelGCThreads", SP_JFR_COUNT, "Parallel GC Threads"),
			INT("concurrentGCThreads", SP_JFR_COUNT, "Concurrent GC Threads"),
			FLAG("usesDynamicGCThreads", "Uses Dynamic GC Threads"),
			FLAG("isExplicitGCConcurrent", "Concurrent Explicit GC"),
			FLAG("isExplicitGCDisabled", "Disabled Explicit GC"),
			LONG("pauseTarget", SP_JFR_MS_SPAN, "Pause Target"),
			INT("gcTimeRatio", SP_JFR_COUNT, "GC Time Ratio"))),
	EVENT(SP_JFR_CLASS_LOADING, "jdk.ClassLoadingStatistics", "Class Loading Statistics",
		IN("Java Application", "Statistics"),
		.fields =
			FIELDS(START, LONG("loadedClassCount", SP_JFR_COUNT, "Loaded Class Count"),
				LONG("unloadedClassCount", SP_JFR_COUNT, "Unloaded Class Count"))),
	EVENT(SP_JFR_THREAD_START, "jdk.ThreadStart", "Java Thread Start", IN("Java Application"),
		.fields =
			FIELDS(START, THREAD, POOLED("thread", SP_JFR_THREAD, "New Java Thread"))),
	EVENT(SP_JFR_THREAD_END, "jdk.ThreadEnd", "Java Thread End", IN("Java Application"),
		.fields = FIELDS(START, THREAD, POOLED("thread", SP_JFR_THREAD, "Java Thread"))),
	EVENT(SP_JFR_CPU_LOAD, "jdk.CPULoad", "CPU Load", IN("Operating System", "Processor"),
		.fields = FIELDS(START, RATIO("jvmUser", "JVM User"),
			RATIO("jvmSystem", "JVM System"), RATIO("machineTotal", "Machine Total"))),
	EVENT(SP_JFR_CPU_THROTTLING, "jdk.ContainerCPUThrottling", "Container CPU Throttling",
		IN("Operating System", "Processor"),
		.fields =
			FIELDS(START, LONG("cpuElapsedSlices", SP_JFR_COUNT, "CPU Elapsed Slices"),
				LONG("cpuThrottledSlices", SP_JFR_COUNT, "CPU Throttled Slices"),
				LONG("cpuThrottledTime", SP_JFR_TICKS_SPAN, "CPU Throttled Time"))),
	EVENT(SP_JFR_RSS, "jdk.ResidentSetSize", "Resident Set Size",
		IN("Java Virtual Machine", "Memory"),
		.fields = FIELDS(START, LONG("size", SP_JFR_BYTES, "Resident Set Size"),
			LONG("peak", SP_JFR_BYTES, "Resident Set Size Peak Value"))),
	EVENT(SP_JFR_HEAP_SUMMARY, "jdk.GCHeapSummary", "Heap Summary",
		IN("Java Virtual Machine", "GC", "Heap"),
		.fields = FIELDS(START, INT("gcId", SP_JFR_COUNT, "GC Identifier"),
			POOLED("when", SP_JFR_GC_WHEN, "When"),
			{"heapSpace", SP_JFR_VIRTUAL_SPACE, 0, SP_JFR_PLAIN, "Heap Space"},
			LONG("heapUsed", SP_JFR_BYTES, "Heap Used"))),
	EVENT(SP_JFR_GC, "jdk.GarbageCollection", "Garbage Collection",
		IN("Java Virtual Machine", "GC", "Collector"),
		.fields = FIELDS(START, DURATION, INT("gcId", SP_JFR_COUNT, "GC Identifier"),
			POOLED("name", SP_JFR_GC_NAME, "Name"),
			POOLED("cause", SP_JFR_GC_CAUSE, "Cause"),
			LONG("sumOfPauses", SP_JFR_TICKS_SPAN, "Sum of Pauses"),
			LONG("longestPause", SP_JFR_TICKS_SPAN, "Longest Pause"))),
	EVENT(SP_JFR_MODULE, "sparkprof.Module", "Mapped Module", IN("Profiler"),
		.fields = FIELDS(START, TEXT("path", "Path"), TEXT("buildId", "Build Id"),
			LONG("baseAddress", SP_JFR_ADDRESS, "Base Address"),
			LONG("topAddress", SP_JFR_ADDRESS, "Top Address"),
			LONG("device", SP_JFR_PLAIN, "Device"),
			LONG("inode", SP_JFR_PLAIN, "Inode"))),
	EVENT(SP_JFR_COUNTS, "sparkprof.Counts", "Samples so far", IN("Profiler"),
		.fields = FIELDS(START, LONG("samples", SP_JFR_COUNT, "Recorded"),
			LONG("lost", SP_JFR_COUNT, "Lost"),
			LONG("truncated", SP_JFR_COUNT, "Truncated"),
			LONG("unknown", SP_JFR_COUNT, "With an unknown frame"),
			LONG("tooDeep", SP_JFR_COUNT, "Truncated: Deeper Than Kept"), SINCE)),
	EVENT(SP_JFR_LOST, "sparkprof.Lost", "Samples lost so far", IN("Profiler"),
		.fields = FIELDS(START, TEXT("reason", "Reason"),
			LONG("count", SP_JFR_COUNT, "Count"), SINCE)),
	EVENT(SP_JFR_TASK, "sparkprof.Task", "Spark Task", IN("Spark"),
		.fields = FIELDS(START, DURATION, THREAD, INT("stage", SP_JFR_PLAIN, "Stage"),
			INT("stageAttempt", SP_JFR_PLAIN, "Stage Attempt"),
			INT("index", SP_JFR_PLAIN, "Index"),
			INT("attempt", SP_JFR_PLAIN, "Attempt"),
			LONG("taskId", SP_JFR_PLAIN, "Task Id"), FLAG("begun", "Begin Seen"),
			FLAG("ended", "End Seen"), FLAG("helper", "Helping Thread"),
			LONG("launchTime", SP_JFR_EPOCH_MS, "Launch Time by the Driver"))),
	EVENT(SP_JFR_STAGE, "sparkprof.Stage", "Spark Stage", IN("Spark"),
		.fields = FIELDS(START, INT("stage", SP_JFR_PLAIN, "Stage"),
			INT("attempt", SP_JFR_PLAIN, "Attempt"),
			LONG("sqlExecution", SP_JFR_PLAIN, "SQL Execution"),
			TEXT("jobGroup", "Job Group"), TEXT("description", "Job Description"),
			TEXT("callSite", "Call Site"), TEXT("pool", "Scheduler Pool"),
			TEXT("streamingQuery", "Streaming Query"),
			TEXT("streamingBatch", "Streaming Batch"), TEXT("name", "Name"),
			LONG("job", SP_JFR_PLAIN, "Job"), TEXT("sqlText", "SQL Text"),
			INT("finished", SP_JFR_COUNT, "Tasks Finished"),
			LONG("median", SP_JFR_MS_SPAN, "Median of Their Length"))),
	EVENT(SP_JFR_APPLICATION, "sparkprof.Application", "Spark Application", IN("Spark"),
		.fields = FIELDS(START, TEXT("appId", "Application Id"),
			TEXT("appName", "Application Name"), TEXT("appAttempt", "Attempt"),
			TEXT("executorId", "Executor Id"), TEXT("host", "Host"),
			TEXT("container", "Container"), TEXT("pod", "Pod"),
			TEXT("sparkVersion", "Spark Version"),
			TEXT("scalaVersion", "Scala Version"),
			INT("cores", SP_JFR_COUNT, "Cores"))),
	EVENT(SP_JFR_ALLOC, "jdk.ObjectAllocationInNewTLAB", "Allocation in new TLAB",
		IN("Java Virtual Machine", "Memory"),
		.fields = FIELDS(START, THREAD, STACK, ALLOCATED,
			LONG("tlabSize", SP_JFR_BYTES, "TLAB Size"))),
	EVENT(SP_JFR_ALLOC_OUTSIDE, "jdk.ObjectAllocationOutsideTLAB", "Allocation outside TLAB",
		IN("Java Virtual Machine", "Memory"),
		.fields = FIELDS(START, THREAD, STACK, ALLOCATED)),
	EVENT(SP_JFR_LIVE, "profiler.LiveObject", "Live Object",
		IN("Java Virtual Machine", "Memory"),
		.fields = FIELDS(START, THREAD, STACK, ALLOCATED, ALLOCATED_AT)),
	/* Of a dump, in the midst of a recording: other readers would add it to what lives at the
	 * end. */
	EVENT(SP_JFR_LIVE_SO_FAR, "sparkprof.LiveSoFar", "Live Object at a Dump",
		IN("Java Virtual Machine", "Memory"),
		.fields = FIELDS(START, THREAD, STACK, ALLOCATED, ALLOCATED_AT)),
	EVENT(SP_JFR_LIVE_AGE, "sparkprof.LiveAge", "Age of a Live Object",
		IN("Java Virtual Machine", "Memory"),
		.fields =
			FIELDS(START, OBJECT, LONG("objectSize", SP_JFR_BYTES, "Size of This One"),
				LONG("weight", SP_JFR_BYTES, "Bytes It Represents"),
				INT("gcAge", SP_JFR_COUNT, "Collections Survived"))),
	EVENT(SP_JFR_MONITOR_ENTER, "jdk.JavaMonitorEnter", "Java Monitor Blocked",
		IN("Java Application"),
		.fields = FIELDS(START, DURATION, THREAD, STACK,
			POOLED("monitorClass", SP_JFR_CLASS, "Monitor Class"),
			POOLED("previousOwner", SP_JFR_THREAD, "Previous Monitor Owner"),
			LONG("address", SP_JFR_ADDRESS, "Monitor Address"))),
	EVENT(SP_JFR_THREAD_PARK, "jdk.ThreadPark", "Java Thread Park", IN("Java Application"),
		.fields = park_fields),
	EVENT(SP_JFR_IDLE_PARK, "sparkprof.IdlePark", "Idle Thread Park", IN("Java Application"),
		.fields = park_fields),
	EVENT(SP_JFR_MALLOC, "profiler.Malloc", "malloc",
		IN("Java Virtual Machine", "Native Memory"),
		.fields = FIELDS(START, THREAD, STACK, LONG("address", SP_JFR_ADDRESS, "Address"),
			LONG("size", SP_JFR_BYTES, "Size"))),
	EVENT(SP_JFR_FREE, "profiler.Free", "free", IN("Java Virtual Machine", "Native Memory"),
		.fields = FIELDS(START, THREAD, STACK, LONG("address", SP_JFR_ADDRESS, "Address"))),
	EVENT(SP_JFR_NATIVE_LOCK, "profiler.NativeLock", "Native Lock",
		IN("Java Virtual Machine", "Native Locks"),
		.fields = FIELDS(START, DURATION, THREAD, STACK,
			LONG("address", SP_JFR_ADDRESS, "Address"))),
	/* Apart and before it, because async-profiler's converter reads the other by position. */
	EVENT(SP_JFR_NATIVE_LOCK_KIND, "sparkprof.NativeLockKind", "Kind of Native Lock",
		IN("Java Virtual Machine", "Native Locks"),
		.fields = FIELDS(START, THREAD, POOLED("lockClass", SP_JFR_CLASS, "Kind of Lock"),
			POOLED("previousOwner", SP_JFR_THREAD, "Previous Owner"))),
	/* Of calls that are counted only, or are recorded for others. Apart and before the next, as
	 * above. */
	EVENT(SP_JFR_CALL_COUNT, "sparkprof.CallCount", "Count of a Method Call",
		IN("Java Virtual Machine", "Method Tracing"),
		.fields = FIELDS(START, THREAD, LONG("count", SP_JFR_COUNT, "Calls It Represents"),
			INT("timed", SP_JFR_PLAIN, "1: Its Duration Is Known"))),
	EVENT(SP_JFR_METHOD_TRACE, "jdk.MethodTrace", "Method Trace",
		IN("Java Virtual Machine", "Method Tracing"),
		.fields = FIELDS(
			START, DURATION, THREAD, STACK, POOLED("method", SP_JFR_METHOD, "Method"))),
	EVENT(SP_JFR_PYTHON_PROCESS, "sparkprof.PythonProcess", "Python Process", IN("Python"),
		.fields = FIELDS(START, THREAD, LONG("pid", SP_JFR_PLAIN, "Process Identifier"),
			LONG("rss", SP_JFR_BYTES, "Resident Set Size"),
			LONG("pss", SP_JFR_BYTES, "Proportional Set Size"),
			RATIO("cpu", "CPU, Share of One Core"), INT("stage", SP_JFR_PLAIN, "Stage"),
			LONG("taskId", SP_JFR_PLAIN, "Task Id"))),
	EVENT(SP_JFR_MEMORY_GROUP, "sparkprof.MemoryGroup", "Memory Control Group", IN("Python"),
		.fields = FIELDS(START, LONG("pid", SP_JFR_PLAIN, "Process Identifier"),
			LONG("used", SP_JFR_BYTES, "Used"), LONG("limit", SP_JFR_BYTES, "Limit"))),
	EVENT(SP_JFR_PYTHON_SOCKET, "sparkprof.PythonSocket", "Socket of a Python Worker",
		IN("Python"),
		.fields = FIELDS(START, DURATION, THREAD,
			LONG("javaThread", SP_JFR_PLAIN, "Thread at Its Other End"),
			LONG("taskId", SP_JFR_PLAIN, "Task Id by the Worker's Context"))),
	EVENT(SP_JFR_CLASS_SOURCE, "sparkprof.ClassSource", "Code Source of Classes",
		IN("Java Virtual Machine"),
		.fields = FIELDS(START, TEXT("location", "Location"),
			TEXT("classes", "Classes, a Line Each"))),
	EVENT(SP_JFR_SQL_PLAN, "sparkprof.SqlPlan", "Plan of an SQL Execution", IN("Spark"),
		.fields = FIELDS(START, LONG("sqlExecution", SP_JFR_PLAIN, "SQL Execution"),
			TEXT("pipelines", "Operators of Each Generated Class"))),
	EVENT(SP_JFR_TASK_MEASURES, "sparkprof.TaskMeasures", "Spark's Measures of a Task",
		IN("Spark"),
		.fields = FIELDS(START, LONG("taskId", SP_JFR_PLAIN, "Task Id"),
			LONG("readCpuTime", SP_JFR_TICKS_SPAN, "Executor Deserialize CPU Time"),
			LONG("cpuTime", SP_JFR_TICKS_SPAN, "Executor CPU Time"),
			LONG("runTime", SP_JFR_TICKS_SPAN, "Executor Run Time"),
			LONG("gcTime", SP_JFR_TICKS_SPAN, "JVM GC Time"),
			LONG("fetchWaitTime", SP_JFR_TICKS_SPAN, "Fetch Wait Time"),
			LONG("shuffleWriteTime", SP_JFR_TICKS_SPAN, "Shuffle Write Time"))),
	EVENT(SP_JFR_PROCESS_SAMPLE, "profiler.ProcessSample", "Process Stats Sample",
		IN("Operating System", "Process"),
		.fields = FIELDS(START, LONG("pid", SP_JFR_PLAIN, "Process ID"),
			LONG("ppid", SP_JFR_PLAIN, "Parent Process ID"),
			TEXT("name", "Process Name"), LONG("uid", SP_JFR_PLAIN, "User ID"),
			RATIO("cpuPercent", "CPU Percentage"),
			LONG("threads", SP_JFR_COUNT, "Thread Count"),
			LONG("vmSize", SP_JFR_BYTES, "Virtual Memory Size"),
			LONG("vmRss", SP_JFR_BYTES, "Resident Memory Size"),
			LONG("cpuTime", SP_JFR_TICKS_SPAN, "CPU Time Since the Look Before"),
			FLAG("target", "Is It This One"))),
};

const struct sp_jfr_type *sp_jfr_type(unsigned id)
{
	return id < SP_COUNT(types) && types[id].name ? &types[id] : NULL;
}
