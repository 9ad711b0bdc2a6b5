/* What time was spent on: stacks as Spark has them, with the states that threads have in them. */
#include <criterion/criterion.h>

#include "base/cleanup.h"
#include "prof/spark/time_class.h"
#include "sample_profile.h"

#define PARK	   "!jdk/internal/misc/Unsafe.park"
#define TAKE	   "java/util/concurrent/LinkedBlockingQueue.take"
#define FETCH	   "org/apache/spark/storage/ShuffleBlockFetcherIterator.next"
#define GEN	   "org/apache/spark/sql/catalyst/expressions/GeneratedClass$G.processNext"
#define WRITER	   "org/apache/spark/shuffle/sort/UnsafeShuffleWriter.write"
#define TIMED	   "org/apache/spark/storage/TimeTrackingOutputStream.write"
#define TASK	   "org/apache/spark/scheduler/Task.run"
#define LAUNCH	   "org/apache/spark/executor/Executor$TaskRunner.run"
#define RUNNER	   TASK, LAUNCH
#define MINE	   "com/acme/Job.map"
#define PY	   "org/apache/spark/api/python/BasePythonRunner$ReaderIterator.read"
#define SOCKET	   "!sun/nio/ch/SocketDispatcher.read0"
#define WRITE0	   "!java/io/FileOutputStream.writeBytes"
#define DFS	   "org/apache/hadoop/hdfs/DFSInputStream.read"
#define COMPILE	   "org/apache/spark/sql/catalyst/expressions/codegen/CodeGenerator$.doCompile"
#define LOADS	   "@loads (pyspark/serializers.py)"
#define WORKER	   "@[python worker]"
#define BYPASS	   "org/apache/spark/shuffle/sort/BypassMergeSortShuffleWriter"
#define LOCAL_DISK "org/apache/spark/shuffle/sort/io/LocalDiskShuffleMapOutputWriter"
#define EVENTFD	   "!io/netty/channel/epoll/Native.eventFdWrite"
#define WAKEUP	   "io/netty/channel/epoll/EpollIoHandler.wakeup"
#define LOOP	   "io/netty/channel/epoll/EpollIoHandler.run"
#define INIT_17	   "+ObjectMonitor::wait", "+InstanceKlass::initialize_impl"
#define INIT_25	   "+Monitor::wait", "+InstanceKlass::initialize_impl"
#define KRYO	   "com/esotericsoftware/kryo/Kryo.writeClassAndObject"

static const struct {
	const char *want, *state;
	const char *frames[9];
} cases[] = {
	{"CPU", "running", {"java/util/HashMap.get", MINE, WRITER, RUNNER}},
	{"CPU", "", {MINE, RUNNER}},
	{"waits for a core", "runnable", {GEN, FETCH, RUNNER}},
	{"shuffle read wait", "lock", {PARK, TAKE, FETCH, GEN, WRITER, RUNNER}},
	{"shuffle read wait", "runnable", {PARK, TAKE, FETCH, GEN, RUNNER}},
	{"disk", "disk", {"!java/io/FileInputStream.open0", FETCH, GEN, RUNNER}},
	{"GC", "lock", {"+syscall", "+SafepointSynchronize::block", "java/util/HashMap.get", MINE}},
	{"GC", "lock", {"+SafepointSynchronize::block", TIMED, WRITER, RUNNER}},
	{"safepoint", "safepoint", {"+SafepointSynchronize::block", TIMED, WRITER, RUNNER}},
	{"GC", "safepoint", {"+ZPageAllocator::alloc_page", "java/util/HashMap.get", MINE}},
	{"waits for a core", "runnable",
		{"+SafepointSynchronize::block", "java/util/HashMap.get", MINE}},
	{"waits for a core", "runnable", {"+ObjectMonitor::enter", MINE, RUNNER}},
	{"waits for a core", "runnable", {SOCKET, PY, RUNNER}},
	{"waits for a core", "runnable", {"@clean (job.py)", WORKER}},
	{"shuffle write", "runnable", {WRITE0, TIMED, WRITER, RUNNER}},
	{"CPU, spinning for a lock", "running", {"+_complete_monitor_locking_Java", MINE, RUNNER}},
	{"CPU, spinning for a lock", "running",
		{"+pthread_yield", "+ObjectMonitor::TrySpin", "+ObjectMonitor::enter", MINE}},
	{"CPU", "running", {"+ObjectMonitor::exit", MINE, RUNNER}},
	{"task launch and result", "running", {"java/util/HashMap.get", LAUNCH}},
	/* a launch, or a compilation, takes long where there is no core, and is not the reason */
	{"waits for a core", "runnable", {"java/util/HashMap.get", LAUNCH}},
	{"waits for a core", "runnable", {"org/codehaus/janino/Parser.x", COMPILE, RUNNER}},
	{"task launch and result", "running",
		{"java/io/ObjectInputStream.readObject",
			"org/apache/spark/serializer/JavaSerializerInstance.deserialize",
			"org/apache/spark/scheduler/ResultTask.runTask", RUNNER}},
	{"serialisation", "running",
		{"org/apache/spark/serializer/JavaSerializerInstance.deserialize", MINE,
			"org/apache/spark/scheduler/ResultTask.runTask", RUNNER}},
	{"GC", "lock", {"+Monitor::wait", "+G1CollectedHeap::attempt_allocation_slow", GEN}},
	{"GC", "running", {"+G1ParScanThreadState::trim_queue", "+WorkerThread::run"}},
	{"idle", "lock", {"+futex", "+WorkerThread::run"}},
	{"idle", "lock", {PARK, TAKE, "java/util/concurrent/ThreadPoolExecutor.getTask"}},
	{"idle", "poll",
		{"!sun/nio/ch/EPoll.wait",
			"io/netty/channel/nio/SelectedSelectionKeySetSelector.select",
			"io/netty/channel/nio/NioEventLoop.select"}},
	{"idle", "lock", {PARK, TAKE, "org/apache/spark/rpc/netty/MessageLoop.receiveLoop"}},
	/* A task that sends its result wakes such a loop. */
	{"task launch and result", "running", {EVENTFD, WAKEUP, LAUNCH}},
	{"waits for a core", "runnable", {EVENTFD, WAKEUP, LAUNCH}},
	{"waits for a core", "runnable",
		{EVENTFD, "io/netty/channel/nio/NioEventLoop.wakeup", MINE, RUNNER}},
	{"idle", "poll", {"!io/netty/channel/epoll/Native.epollWait", LOOP}},
	{"shuffle write", "running", {WRITE0, TIMED, KRYO, WRITER, RUNNER}},
	{"shuffle write", "disk", {WRITE0, TIMED, WRITER, RUNNER}},
	{"disk", "disk",
		{WRITE0, TIMED,
			"org/apache/spark/util/collection/unsafe/sort/UnsafeSorterSpillWriter.x",
			GEN, WRITER}},
	{"serialisation", "running", {"java/io/DataOutputStream.write", KRYO, WRITER, RUNNER}},
	{"CPU", "running", {"com/github/luben/zstd/ZstdOutputStream.write", KRYO, WRITER}},
	{"JVM waits for Python", "net",
		{SOCKET, "java/io/DataInputStream.readInt", PY, WRITER, RUNNER}},
	{"JVM waits for Python", "poll", {"!sun/nio/ch/EPoll.wait", PY, RUNNER}},
	{"CPU", "running", {"+_ZN5arrow4sortEv", "!org/apache/comet/Native.executePlan", RUNNER}},
	{"lock", "blocked", {"!org/apache/comet/Native.executePlan", RUNNER}},
	{"disk", "disk", {"+read", "!org/apache/comet/Native.executePlan", RUNNER}},
	{"shuffle write", "running", {"!org/apache/comet/Native.writeSortedFileNative", RUNNER}},
	/* Spark's clock has stopped when the index is written */
	{"shuffle write", "disk",
		{WRITE0, BYPASS ".writePartitionedData", BYPASS ".write", RUNNER}},
	{"disk", "disk",
		{WRITE0, "org/apache/spark/shuffle/IndexShuffleBlockResolver.writeMetadataFile",
			LOCAL_DISK ".commitAllPartitions", BYPASS ".writePartitionedData",
			BYPASS ".write", RUNNER}},
	{"CPU", "running",
		{"java/util/UUID.randomUUID", LOCAL_DISK ".commitAllPartitions",
			"org/apache/spark/shuffle/sort/SortShuffleWriter.write", RUNNER}},
	/* What Python is fed with may wait for something else. */
	{"shuffle read wait", "lock", {PARK, TAKE, FETCH, PY, RUNNER}},
	{"CPU", "running", {GEN, PY, RUNNER}},
	{"HDFS/S3", "net", {SOCKET, DFS, "org/apache/parquet/hadoop/ParquetFileReader.x", RUNNER}},
	{"HDFS/S3", "lock", {PARK, "software/amazon/awssdk/Client.get", RUNNER}},
	{"disk", "disk",
		{"!java/io/FileInputStream.readBytes",
			"org/apache/hadoop/fs/RawLocalFileSystem$L.read", GEN}},
	{"network", "net", {SOCKET, "org/postgresql/Driver.x", MINE, RUNNER}},
	{"network", "lock",
		{PARK, "org/apache/spark/util/ThreadUtils$.awaitResult",
			"org/apache/spark/rpc/RpcTimeout.awaitResult", RUNNER}},
	{"lock", "lock", {PARK, "org/apache/spark/network/util/JavaUtils.md5Hex", MINE, RUNNER}},
	/* A lock of one's own inside of a shuffle writer is no shuffle. */
	{"lock", "lock", {"+ObjectMonitor::enter", MINE, WRITER, RUNNER}},
	{"lock", "lock", {PARK, MINE, FETCH, RUNNER}},
	{"sleep", "sleep", {"!java/lang/Thread.sleep", MINE, RUNNER}},
	{"codegen compile", "running",
		{"java/util/HashMap.get", "org/codehaus/janino/Parser.x", COMPILE, RUNNER}},
	{"codegen compile", "lock", {PARK, "com/google/common/cache/LocalCache.get", COMPILE}},
	{"other", "blocked", {MINE, RUNNER}},
	/* another thread initialises the class, which this one wants to use */
	{"class initialisation", "lock", {INIT_17, MINE, WRITER, RUNNER}},
	{"class initialisation", "lock", {"+futex", INIT_25, MINE, RUNNER}},
	{"waits for a core", "runnable", {INIT_17, MINE, RUNNER}},
	{"CPU", "running",
		{"+Verifier::verify", "+InstanceKlass::link_class_impl",
			"+InstanceKlass::initialize_impl", MINE, RUNNER}},
	{"lock", "lock",
		{"+ObjectMonitor::enter", "com/acme/Table.<clinit>",
			"+InstanceKlass::initialize_impl", MINE, RUNNER}},
	/* one task starts the daemon, the others of a new executor wait for it */
	{"JVM waits for Python", "lock",
		{"+ObjectMonitor::enter", "org/apache/spark/SparkEnv.createPythonWorker", PY,
			RUNNER}},
	{"disk", "blocked",
		{"org/apache/spark/shuffle/"
		 "IndexShuffleBlockResolver.writeMetadataFileAndCommit",
			LOCAL_DISK ".commitAllPartitions", WRITER, RUNNER}},
	{"Python CPU", "running", {"+sort", "@key (job.py)", LOADS, WORKER, PY, RUNNER}},
	{"Python CPU", "", {"@clean (job.py)", WORKER}},
	{"Python serialisation", "running",
		{"+unpickle", LOADS, "@main (pyspark/worker.py)", WORKER, PY}},
	{"Python waits for JVM", "net", {"+read", LOADS, WORKER, PY, RUNNER}},
	{"Python blocked", "sleep", {"@clean (job.py)", LOADS, WORKER, PY, RUNNER}},
	{"disk", "blocked", {"!java/io/FileOutputStream.open0", MINE}},
	/* a program that was started, and pipes to it */
	{"pipe or child process", "blocked",
		{"!java/io/FileInputStream.readBytes", "java/io/BufferedReader.readLine",
			"scala/io/BufferedSource$BufferedLineIterator.hasNext",
			"org/apache/spark/rdd/PipedRDD$$anon$1.hasNext", RUNNER}},
	{"pipe or child process", "blocked",
		{"!java/io/FileInputStream.readBytes", "java/io/BufferedReader.readLine", MINE,
			RUNNER}},
	{"pipe or child process", "blocked",
		{"+vfork", "!java/lang/ProcessImpl.forkAndExec", "java/lang/ProcessImpl.<init>",
			MINE, RUNNER}},
	{"JVM waits for Python", "blocked",
		{"+readFully", "!java/lang/ProcessImpl.forkAndExec",
			"java/lang/ProcessBuilder.start",
			"org/apache/spark/api/python/PythonWorkerFactory.startDaemon", RUNNER}},
	{"pipe or child process", "lock",
		{PARK, "java/lang/ProcessImpl.waitFor", "org/apache/hadoop/util/Shell.runCommand",
			RUNNER}},
	{"disk", "disk", {"!java/io/FileInputStream.readBytes", MINE, RUNNER}},
	/* /dev/urandom is no disk */
	{"CPU", "running",
		{"!java/io/FileInputStream.readBytes",
			"sun/security/provider/NativePRNG$RandomIO.readFully",
			"java/security/SecureRandom.nextBytes", "java/util/UUID.randomUUID",
			"java/io/File.createTempFile", MINE, RUNNER}},
	{"disk", "running", {"!java/io/FileInputStream.readBytes", MINE, RUNNER}},
	/* Another thread asks the driver. */
	{"network", "lock",
		{"+ObjectMonitor::wait", "java/lang/Object.wait",
			"org/apache/spark/util/KeyLock.acquireLock",
			"org/apache/spark/MapOutputTrackerWorker.getStatuses", FETCH, RUNNER}},
	{"network", "lock",
		{"+ObjectMonitor::wait", "java/lang/Object.wait",
			"org/apache/spark/util/KeyLock.acquireLock",
			"org/apache/spark/broadcast/TorrentBroadcast.readBroadcastBlock", MINE,
			RUNNER}},
	{"lock", "lock",
		{"+ObjectMonitor::wait", "java/lang/Object.wait",
			"org/apache/spark/util/KeyLock.acquireLock", MINE, RUNNER}},
	{"network", "lock",
		{PARK, "org/apache/spark/util/SparkThreadUtils$.awaitResult",
			"org/apache/spark/util/ThreadUtils$.awaitResult",
			"org/apache/spark/scheduler/OutputCommitCoordinator.canCommit",
			"org/apache/spark/mapred/SparkHadoopMapRedUtil$.commitTask", RUNNER}},
	/* What a task is to run is a broadcast, which Spark's run time does not include. */
	{"task launch and result", "lock",
		{PARK, "org/apache/spark/network/BlockTransferService.fetchBlockSync",
			"org/apache/spark/broadcast/TorrentBroadcast.readBlocks",
			"org/apache/spark/broadcast/Broadcast.value",
			"org/apache/spark/scheduler/ResultTask.runTask", RUNNER}},
	{"network", "lock",
		{PARK, "org/apache/spark/network/BlockTransferService.fetchBlockSync",
			"org/apache/spark/broadcast/TorrentBroadcast.readBlocks",
			"org/apache/spark/broadcast/Broadcast.value", MINE,
			"org/apache/spark/scheduler/ResultTask.runTask", RUNNER}},
	/* RocksDB waits for its own threads, which write. */
	{"disk", "lock",
		{"+pthread_cond_wait", "+rocksdb::DBImpl::WaitForFlushMemTables",
			"!org/rocksdb/RocksDB.flush", MINE, RUNNER}},
	{"disk", "blocked", {"!org/rocksdb/RocksDB.get", MINE, RUNNER}},
	{"CPU", "running", {"+rocksdb::DBImpl::GetImpl", "!org/rocksdb/RocksDB.get", RUNNER}},
	/* spark.shuffle.sync */
	{"shuffle write", "disk",
		{"!java/io/FileDescriptor.sync0", "java/io/FileDescriptor.sync",
			"org/apache/spark/storage/DiskBlockObjectWriter.commitAndGet", MINE}},
	{"disk", "disk",
		{"!java/io/FileDescriptor.sync0", "java/io/FileDescriptor.sync",
			"org/apache/spark/storage/DiskBlockObjectWriter.commitAndGet",
			"org/apache/spark/util/collection/unsafe/sort/"
			"UnsafeSorterSpillWriter.close"}},
	{"disk", "disk", {"!java/io/FileDescriptor.sync0", "java/io/FileDescriptor.sync", MINE}},
};

Test(time_class, every_stack_has_one_answer)
{
	struct sp_profile *p = sample_profile();

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_frame_ref frames[9];
		uint32_t n = 0;

		for (; n < 9 && cases[i].frames[n]; n++)
			frames[n] = frame(p, cases[i].frames[n]);
		cr_expect_str_eq(sp_time_class_name(sp_time_class_of_stack(
					 p->dict, frames, n, cases[i].state)),
			cases[i].want, "%s in %s", cases[i].frames[0], cases[i].state);
	}
	sp_profile_free(p);
}

Test(time_class, what_is_kept_of_stacks_answers_the_same)
{
	struct sp_profile *p = sample_profile();
	struct sp_sample rows[SP_COUNT(cases)];
	struct sp_time_class_of *s;

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_frame_ref frames[9];
		uint32_t n = 0;

		for (; n < 9 && cases[i].frames[n]; n++)
			frames[n] = frame(p, cases[i].frames[n]);
		rows[i] = (struct sp_sample){.stack = sp_dict_stack(p->dict, frames, n, 0),
			.state = cases[i].state[0] ? str(p, cases[i].state) : 0};
	}
	cr_assert_eq(sp_time_class_new(&s, p), 0);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < SP_COUNT(cases); i++)
			cr_expect_str_eq(sp_time_class_name(sp_time_class_of_row(s, &rows[i])),
				cases[i].want);
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		int kind = sp_time_class_kind(s, rows[i].stack);

		cr_assert(kind >= 0 && (unsigned)kind < sp_time_class_kinds(s));
		cr_expect_str_eq(sp_time_class_name(
					 sp_time_class_of_kind(s, (unsigned)kind, cases[i].state)),
			cases[i].want);
	}
	cr_expect_lt(sp_time_class_kinds(s), SP_COUNT(cases));
	cr_expect_eq(sp_time_class_of_row(s, &(struct sp_sample){0}), SP_TIME_CLASS_CPU);
	sp_time_class_free(s);
	sp_profile_free(p);
}

/* A collection in the midst of a write, or as a thread comes back from the wait for a block, is
 * both to Spark. */
Test(time_class, sparks_clocks_go_on_while_a_thread_is_held)
{
	static const struct {
		enum sp_time_class want;
		const char *state, *frames[9];
	} list[] = {
		{SP_TIME_CLASS_SHUFFLE_WRITE, "lock",
			{"+SafepointSynchronize::block", WRITE0, TIMED, WRITER, RUNNER}},
		{SP_TIME_CLASS_SHUFFLE_WRITE, "safepoint",
			{"+SafepointSynchronize::block", WRITE0, TIMED, WRITER, RUNNER}},
		{SP_TIME_CLASS_SHUFFLE_READ, "lock",
			{"+SafepointSynchronize::block", PARK, TAKE, FETCH, GEN, RUNNER}},
		{SP_TIME_CLASS_SHUFFLE_READ, "lock", {PARK, TAKE, FETCH, GEN, RUNNER}},
		{SP_TIME_CLASS_OTHER, "lock", {"+SafepointSynchronize::block", FETCH, GEN, RUNNER}},
		{SP_TIME_CLASS_OTHER, "lock", {"+SafepointSynchronize::block", MINE, RUNNER}},
		{SP_TIME_CLASS_OTHER, "running", {GEN, FETCH, RUNNER}},
	};
	struct sp_profile *p = sample_profile();
	struct sp_sample rows[SP_COUNT(list)];
	struct sp_time_class_of *s;

	for (size_t i = 0; i < SP_COUNT(list); i++) {
		struct sp_frame_ref frames[9];
		uint32_t n = 0;

		for (; n < 9 && list[i].frames[n]; n++)
			frames[n] = frame(p, list[i].frames[n]);
		rows[i] = (struct sp_sample){.stack = sp_dict_stack(p->dict, frames, n, 0),
			.state = str(p, list[i].state)};
	}
	cr_assert_eq(sp_time_class_new(&s, p), 0);
	for (size_t i = 0; i < SP_COUNT(list); i++)
		cr_expect_eq(sp_time_class_clock(s, &rows[i]), list[i].want, "%zu", i);
	sp_time_class_free(s);
	sp_profile_free(p);
}
