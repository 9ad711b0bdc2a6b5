/* See time_class.h. A frame has a role; the roles of a stack, leaf to root, make what it says
 * whatever the state; both are kept, so that a row costs a look at its state. */
#include "prof/spark/time_class.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/pyspark_class.h"
#include "prof/model/frame_name.h"
#include "prof/model/glob.h"
#include "prof/spark/area.h"
#include "prof/spark/time_class_internal.h"

/* What a frame is. From OWNER on: someone's own work, where the search for who waits ends. */
enum role {
	UNSEEN,
	NEUTRAL, /* does what its callers want */
	COMMITS, /* the same; a sync that it calls is shuffle write */
	SYNCS,	 /* waits for the disk to have a file */
	FILES,	 /* the same; by calls on a file */
	OPEN,	 /* the same; one that is open, which may be a pipe */
	SOCKETS, /* the same; by calls on a socket */
	BLOCKS,	 /* the same; by waiting for another thread */
	INITS,	 /* initialises a class, or waits until another thread has */
	SPINS,	 /* the same; by trying to get a monitor that another thread has */
	SERIAL,	 /* works itself, but does not wait for itself */
	CODEC,	 /* the same */
	RANDOM,	 /* the same: the file that it reads is the kernel's generator */
	IDLE,
	STALLS,	   /* waits for a collection that goes on beside the threads */
	COLLECTOR, /* waits for one, or for another reason, at a safepoint */
	COMPILES,
	WRITES,
	COLLECTS,
	FINISHES, /* makes files of what was written, after Spark has stopped that clock */
	OWNER,
	LOOPS,	  /* waits for work, where it waits */
	LAUNCHES, /* a task … */
	RUNS,	  /* … within its run time … */
	BODY,	  /* … but for the deserialising that this calls itself */
	SPILLS,
	PYTHON,
	FETCHES,
	STORAGE,
	NETWORK,
	DRIVER,	   /* the same: asks the driver */
	BROADCAST, /* the same: waits for one, which the driver has at first */
	CHILD,	   /* another program, and the pipes to it */
	STATE,	   /* RocksDB: its own threads write what it waits for */
	ENGINE,	   /* another SQL engine, in native code */
};

static const struct {
	const char *pattern;
	enum role role;
} table[] = {
	{"java/util/concurrent/ThreadPoolExecutor.getTask", IDLE},
	{"java/util/concurrent/ForkJoinPool.awaitWork", IDLE},
	{"java/util/TimerThread*", LOOPS},
	{"java/lang/ref/*", LOOPS},
	{"jdk/internal/ref/*", LOOPS},
	{"org/apache/spark/util/EventLoop*", LOOPS},
	{"org/apache/spark/scheduler/AsyncEventQueue*", LOOPS},
	{"org/apache/spark/ContextCleaner*", LOOPS},
	{"org/apache/spark/rpc/netty/MessageLoop*", LOOPS},
	{"org/apache/spark/rpc/netty/SharedMessageLoop*", LOOPS},
	{"org/apache/spark/rpc/netty/DedicatedMessageLoop*", LOOPS},
	{"org/apache/spark/rpc/netty/Dispatcher.awaitTermination", LOOPS},
	{"io/netty/channel/*.wakeup", NETWORK}, /* of a loop, by another thread */
	{"io/netty/channel/nio/NioEventLoop*", LOOPS},
	{"io/netty/channel/nio/NioIoHandler*", LOOPS},
	{"io/netty/channel/SingleThreadIoEventLoop*", LOOPS},
	{"io/netty/channel/epoll/EpollEventLoop*", LOOPS},
	{"io/netty/channel/epoll/EpollIoHandler*", LOOPS},
	{"java/io/ObjectInputStream*", SERIAL},
	{"java/io/ObjectOutputStream*", SERIAL},
	{"java/io/FileDescriptor.sync*", SYNCS},
	{"java/io/FileInputStream.read*", OPEN},
	{"java/io/FileOutputStream.write*", OPEN},
	{"java/io/File*", FILES},
	{"java/io/RandomAccessFile*", FILES},
	{"java/io/UnixFileSystem*", FILES},
	{"java/nio/file/*", FILES},
	{"sun/nio/fs/*", FILES},
	{"sun/nio/ch/File*", FILES},
	{"sun/nio/ch/UnixFile*", FILES},
	{"java/net/*", SOCKETS},
	{"sun/nio/ch/*", SOCKETS},
	{"io/netty/channel/epoll/*", SOCKETS},
	{"jdk/internal/misc/Unsafe.park", BLOCKS},
	{"java/lang/Object.wait*", BLOCKS},
	{"java/lang/Thread.sleep*", BLOCKS},
	{"java/util/zip/*", CODEC},
	{"sun/security/provider/NativePRNG*", RANDOM},
	{"java/lang/ProcessImpl*", CHILD},
	{"java/lang/ProcessBuilder*", CHILD},
	{"java/*", NEUTRAL},
	{"javax/*", NEUTRAL},
	{"jdk/*", NEUTRAL},
	{"sun/*", NEUTRAL},
	{"com/sun/*", NEUTRAL},
	{"scala/*", NEUTRAL},
	{"org/apache/spark/executor/Executor$TaskRunner*", LAUNCHES},
	{"org/apache/spark/scheduler/Task.run", RUNS},
	{"org/apache/spark/scheduler/ResultTask.runTask", BODY},
	{"org/apache/spark/scheduler/ShuffleMapTask.runTask", BODY},
	{"org/apache/spark/rdd/PipedRDD*", CHILD},
	{"org/apache/spark/sql/execution/*ScriptTransformation*", CHILD},
	{"org/apache/hadoop/util/Shell*", CHILD},
	{"org/codehaus/janino/*", COMPILES},
	{"org/codehaus/commons/compiler/*", COMPILES},
	{"org/apache/spark/sql/catalyst/expressions/codegen/CodeGenerator*", COMPILES},
	SP_PYSPARK_EXCHANGE_PATTERNS(PYTHON),
	{"org/apache/spark/SparkEnv.createPythonWorker*", PYTHON},
	{"org/apache/spark/storage/TimeTrackingOutputStream*", WRITES},
	{"org/apache/spark/shuffle/sort/BypassMergeSortShuffleWriter.writePartitionedData*",
		WRITES},
	{"org/apache/spark/shuffle/sort/UnsafeShuffleWriter.mergeSpillsWithTransferTo*", WRITES},
	{"org/apache/spark/shuffle/sort/io/*.commitAllPartitions", FINISHES},
	{"org/apache/spark/shuffle/IndexShuffleBlockResolver.writeMetadata*", FINISHES},
	{"org/apache/spark/shuffle/IndexShuffleBlockResolver.writeIndex*", FINISHES},
	{"org/apache/spark/storage/DiskBlockManager.createTemp*", NEUTRAL},
	{"org/apache/spark/storage/DiskBlockObjectWriter.commitAndGet", COMMITS},
	{"org/apache/spark/storage/DiskBlockObjectWriter*", NEUTRAL},
	{"org/apache/spark/util/collection/unsafe/sort/UnsafeSorterSpillWriter*", SPILLS},
	{"org/apache/spark/util/collection/ExternalAppendOnlyMap*", SPILLS},
	{"org/apache/spark/storage/ShuffleBlockFetcherIterator*", FETCHES},
	{"org/apache/spark/storage/PushBasedFetchHelper*", FETCHES},
	{"org/apache/spark/serializer/*", SERIAL},
	{"org/apache/spark/sql/execution/UnsafeRowSerializer*", SERIAL},
	{"com/esotericsoftware/*", SERIAL},
	{"com/twitter/chill/*", SERIAL},
	{"org/apache/arrow/*", SERIAL},
	{"org/apache/spark/network/util/JavaUtils*", NEUTRAL}, /* md5 in hex, too */
	{"org/apache/spark/network/*", NETWORK},
	{"org/apache/spark/rpc/*", DRIVER},
	{"io/netty/channel/nio/SelectedSelectionKeySetSelector*", NEUTRAL},
	{"io/netty/*", NETWORK},
	{"org/apache/spark/scheduler/OutputCommitCoordinator*", DRIVER},
	{"org/apache/spark/MapOutputTracker*", DRIVER}, /* asks it … */
	{"org/apache/spark/broadcast/*", BROADCAST},	/* … or waits for one that */
	{"org/apache/spark/util/KeyLock*", NEUTRAL},	/* does */
	{"org/apache/spark/util/ThreadUtils*", NEUTRAL},
	{"org/apache/spark/util/SparkThreadUtils*", NEUTRAL},
	{"org/apache/spark/io/*", CODEC},
	{"com/github/luben/zstd/*", CODEC},
	{"net/jpountz/*", CODEC},
	{"org/xerial/snappy/*", CODEC},
	{"org/apache/hadoop/fs/RawLocalFileSystem*", NEUTRAL},
	{"org/apache/hadoop/fs/LocalFileSystem*", NEUTRAL},
	{"org/apache/hadoop/fs/ChecksumFileSystem*", NEUTRAL},
	{"org/apache/hadoop/fs/FS*", NEUTRAL},
	{"org/apache/hadoop/fs/Buffered*", NEUTRAL},
	{"org/apache/hadoop/io/*", NEUTRAL},
	{"org/apache/hadoop/hdfs/*", STORAGE},
	{"org/apache/hadoop/fs/*", STORAGE},
	{"org/apache/hadoop/ipc/*", STORAGE},
	{"com/amazonaws/*", STORAGE},
	{"software/amazon/*", STORAGE},
	{"com/google/cloud/*", STORAGE},
	{"com/microsoft/azure/*", STORAGE},
	{"com/azure/*", STORAGE},
	{"org/rocksdb/*", STATE},
	{"org/apache/comet/Native.writeSortedFileNative", WRITES},
	{"org/apache/comet/*", ENGINE},
	{"org/apache/gluten/*", ENGINE},
	{"io/glutenproject/*", ENGINE},
	{"org/apache/auron/*", ENGINE},
	{"org/blaze/*", ENGINE},
	{"com/nvidia/spark/*", ENGINE},
	{"ai/rapids/*", ENGINE},
};

/* Functions of the JVM. A thread is also held at a safepoint when it comes back from native code.
 */
static const struct {
	const char *pattern;
	enum role role;
} functions[] = {
	{"SafepointSynchronize::*", COLLECTOR},
	{"SafepointMechanism::*", COLLECTOR},
	{"G1CollectedHeap::*", COLLECTOR},
	{"ParallelScavengeHeap::*", COLLECTOR},
	{"GenCollectedHeap::*", COLLECTOR},
	{"SerialHeap::*", COLLECTOR},
	{"ShenandoahHeap::*", STALLS},
	{"ShenandoahController::*", STALLS},
	{"ZPageAllocator::*", STALLS},
	{"GCLocker::*", STALLS},
	{"WorkerThread::*", COLLECTS},
	{"AbstractGangWorker::*", COLLECTS},
	{"GangWorker::*", COLLECTS},
	{"ConcurrentGCThread::*", COLLECTS},
	{"VM_G1*", COLLECTS},
	{"VM_GenCollect*", COLLECTS},
	{"VM_ParallelGC*", COLLECTS},
	{"VM_CollectForMetadata*", COLLECTS},
	{"Unsafe_Park*", BLOCKS},
	{"JVM_MonitorWait*", BLOCKS},
	{"*complete_monitor_locking*", SPINS}, /* of compiled code */
	{"*monitorenter*", SPINS},	       /* of the interpreter and C1 */
	{"ObjectSynchronizer::enter*", SPINS},
	{"ObjectSynchronizer::quick_enter*", SPINS},
	{"ObjectSynchronizer::inflate_and_enter*", SPINS},
	{"LightweightSynchronizer::*", SPINS},
	{"ObjectMonitor::enter*", SPINS},
	{"ObjectMonitor::EnterI*", SPINS},
	{"ObjectMonitor::try_enter*", SPINS},
	{"ObjectMonitor::spin_enter*", SPINS},
	{"ObjectMonitor::TrySpin*", SPINS},
	{"ObjectMonitor::try_spin*", SPINS},
	{"ObjectMonitor::short_fixed_spin*", SPINS},
	{"ObjectMonitor::TryLock*", SPINS},
	{"ObjectMonitor::try_lock*", SPINS},
	{"ObjectMonitor::*", BLOCKS},
	{"InstanceKlass::initialize*", INITS},
};

enum tells {
	TELLS_IDLE = 1,
	TELLS_GC = 2,
	TELLS_COMPILES = 4,
	TELLS_WRITES = 8,
	TELLS_SPILLS = 16,
	TELLS_COLLECTS = 32, /* a thread of the collector */
	TELLS_SYNCS = 64,
	TELLS_SPINS = 128,
};

static enum role role_of(const struct sp_dict *d, const struct sp_frame_ref *f, struct sp_buf *text)
{
	static const struct sp_style full;
	const struct sp_method *m = sp_dict_get_method(d, f->method);

	if (!m || (!m->native && !m->name_id))
		return NEUTRAL;
	sp_buf_clear(text);
	sp_frame_name(d, f, &full, text);
	if (m->native) {
		for (size_t i = 0; i < SP_COUNT(functions); i++)
			if (sp_match_glob(functions[i].pattern, sp_buf_str(text)))
				return functions[i].role;
		return NEUTRAL;
	}
	for (size_t i = 0; i < SP_COUNT(table); i++)
		if (sp_match_glob(table[i].pattern, sp_buf_str(text)))
			return table[i].role;
	return OWNER;
}

static void hear(struct sp_stack_roles *t, enum role role, bool java)
{
	static const uint8_t tells[] = {[IDLE] = TELLS_IDLE,
		[STALLS] = TELLS_GC,
		[COLLECTOR] = TELLS_GC,
		[COMPILES] = TELLS_COMPILES,
		[WRITES] = TELLS_WRITES,
		[SPILLS] = TELLS_SPILLS,
		[COLLECTS] = TELLS_COLLECTS,
		[SYNCS] = TELLS_SYNCS};

	t->finishes |= role == FINISHES;
	t->stops |= role == COLLECTOR;
	if (role < SP_COUNT(tells) && !(role == WRITES && t->finishes))
		t->tells |= tells[role];
	if (role == COMMITS && (t->tells & TELLS_SYNCS))
		t->tells |= TELLS_WRITES;
	if (role == SYNCS || role == OPEN) {
		t->open |= role == OPEN && !t->call && !t->worker;
		role = FILES;
	}
	if (role == SPINS) {
		t->tells |= t->java ? 0 : TELLS_SPINS;
		role = BLOCKS;
	}
	t->asks |= role == DRIVER;
	t->broadcast |= role == BROADCAST;
	t->inits |= role == INITS && !t->java;
	if (role == RANDOM && t->call == FILES && !t->worker)
		t->call = 0;
	/* What the thread itself called lies above all who work. */
	if (!t->call && role >= FILES && role <= BLOCKS && !t->worker)
		t->call = (uint8_t)role;
	if (java && !t->worker &&
		(role == SERIAL || role == CODEC || role == RANDOM || role >= OWNER))
		t->worker = (uint8_t)role;
	/* PySpark starts the program that it waits for */
	if (java && (!t->owner || (t->owner == CHILD && role == PYTHON)) && role >= OWNER)
		t->owner = (uint8_t)role;
}

static bool is_waiting(const struct sp_stack_roles *t, const char *state)
{
	if (strcmp(state, "runnable") == 0)
		return t->call == BLOCKS || (t->call == SOCKETS && t->native);
	return state[0] && strcmp(state, "running") != 0;
}

bool sp_time_class_is_blocking(const struct sp_stack_roles *t)
{
	return is_waiting(t, "runnable");
}

static enum sp_time_class of_state(const struct sp_stack_roles *t, const char *state)
{
	if (strcmp(state, "disk") == 0)
		return t->owner == CHILD ? SP_TIME_CLASS_CHILD : SP_TIME_CLASS_DISK;
	if (strcmp(state, "net") == 0 || strcmp(state, "poll") == 0)
		return SP_TIME_CLASS_NETWORK;
	if (strcmp(state, "sleep") == 0)
		return SP_TIME_CLASS_SLEEP;
	if (strcmp(state, "lock") == 0 || t->call == BLOCKS)
		return t->inits ? SP_TIME_CLASS_INIT : SP_TIME_CLASS_LOCK;
	/* A read of a file on a disk is known as one by its descriptor. */
	if (t->call == FILES && t->open && strcmp(state, "blocked") == 0)
		return SP_TIME_CLASS_CHILD;
	if (t->call == FILES || t->finishes)
		return SP_TIME_CLASS_DISK;
	return t->call == SOCKETS ? SP_TIME_CLASS_NETWORK : SP_TIME_CLASS_OTHER;
}

static enum sp_time_class of_waiting(const struct sp_stack_roles *t, const char *state)
{
	enum sp_time_class by_state = of_state(t, state);

	if (!t->java || t->owner == LOOPS)
		return SP_TIME_CLASS_IDLE;
	switch (t->owner) {
	case PYTHON:
		return SP_TIME_CLASS_PYTHON;
	case STORAGE:
		return SP_TIME_CLASS_STORAGE;
	case FETCHES: /* blocks of this executor are opened in there as well */
		return by_state == SP_TIME_CLASS_DISK ? by_state : SP_TIME_CLASS_SHUFFLE_READ;
	case NETWORK:
	case DRIVER:
	case BROADCAST:
		return by_state == SP_TIME_CLASS_DISK ? by_state : SP_TIME_CLASS_NETWORK;
	case CHILD:
		return SP_TIME_CLASS_CHILD;
	case STATE: /* a flush or a compaction */
		return by_state == SP_TIME_CLASS_SLEEP ? by_state : SP_TIME_CLASS_DISK;
	case ENGINE: /* woken before it was seen: its threads wait for each other, else it is known
		      */
		return by_state == SP_TIME_CLASS_OTHER && t->native ? SP_TIME_CLASS_LOCK : by_state;
	default:
		return by_state;
	}
}

static enum sp_time_class of_running(const struct sp_stack_roles *t)
{
	if (!t->java)
		return t->tells & TELLS_COLLECTS ? SP_TIME_CLASS_GC : SP_TIME_CLASS_CPU;
	if (t->tells & TELLS_SPINS)
		return SP_TIME_CLASS_SPIN;
	if (t->call == FILES && t->native)
		return SP_TIME_CLASS_DISK;
	if (t->call == SOCKETS && t->native)
		return t->owner == PYTHON    ? SP_TIME_CLASS_PYTHON
		       : t->owner == STORAGE ? SP_TIME_CLASS_STORAGE
					     : SP_TIME_CLASS_NETWORK;
	return t->worker == SERIAL ? SP_TIME_CLASS_SERIALISATION : SP_TIME_CLASS_CPU;
}

/* A thread that has no core. Spark takes what follows a wake for a part of the fetch. */
static enum sp_time_class of_runnable(const struct sp_stack_roles *t, const char *state)
{
	enum sp_time_class waits = is_waiting(t, state) ? of_waiting(t, state) : SP_TIME_CLASS_CORE;

	return waits == SP_TIME_CLASS_IDLE || waits == SP_TIME_CLASS_SHUFFLE_READ
		       ? waits
		       : SP_TIME_CLASS_CORE;
}

static enum sp_time_class of_worker(const struct sp_stack_roles *t, const char *state)
{
	if (strcmp(state, "runnable") == 0)
		return SP_TIME_CLASS_CORE;
	if (!state[0] || strcmp(state, "running") == 0)
		return t->pickles ? SP_TIME_CLASS_WORKER_SERIAL : SP_TIME_CLASS_WORKER;
	return t->pickles ? SP_TIME_CLASS_WORKER_FOR_JVM : SP_TIME_CLASS_WORKER_WAIT;
}

enum sp_time_class sp_time_class_judge(const struct sp_stack_roles *t, const char *state)
{
	if (t->python)
		return of_worker(t, state);
	if (t->tells & TELLS_IDLE)
		return SP_TIME_CLASS_IDLE;
	/* One that is let go again and has no core waits for that, not for the collector. */
	if (t->java && (t->tells & TELLS_GC) && strcmp(state, "runnable") != 0)
		return t->stops && strcmp(state, SP_STATE_SAFEPOINT) == 0 ? SP_TIME_CLASS_SAFEPOINT
									  : SP_TIME_CLASS_GC;
	/* A spill of a sort or an aggregation goes through the same streams. */
	if ((t->tells & TELLS_WRITES) && !(t->tells & TELLS_COMPILES))
		return t->tells & TELLS_SPILLS ? SP_TIME_CLASS_DISK : SP_TIME_CLASS_SHUFFLE_WRITE;
	if (strcmp(state, "runnable") == 0)
		return of_runnable(t, state);
	if (t->tells & TELLS_COMPILES)
		return SP_TIME_CLASS_COMPILE;
	if (t->launches)
		return SP_TIME_CLASS_LAUNCH;
	return is_waiting(t, state) ? of_waiting(t, state) : of_running(t);
}

enum sp_time_class sp_time_class_judge_clock(const struct sp_stack_roles *t, const char *state)
{
	struct sp_stack_roles free = *t;
	enum sp_time_class is;

	free.tells &= (uint8_t)~TELLS_GC;
	is = sp_time_class_judge(&free, state);
	/* held as it comes back from the wait, not in Spark's own code around that */
	if (is == SP_TIME_CLASS_SHUFFLE_READ && (t->tells & TELLS_GC) && t->call != BLOCKS)
		return SP_TIME_CLASS_OTHER;
	return is == SP_TIME_CLASS_SHUFFLE_READ || is == SP_TIME_CLASS_SHUFFLE_WRITE
		       ? is
		       : SP_TIME_CLASS_OTHER;
}

const char *sp_time_class_name(enum sp_time_class spent)
{
	static const char *const names[SP_TIME_CLASS_KINDS] = {
		[SP_TIME_CLASS_CPU] = "CPU",
		[SP_TIME_CLASS_SPIN] = "CPU, spinning for a lock",
		[SP_TIME_CLASS_CORE] = "waits for a core",
		[SP_TIME_CLASS_GC] = "GC",
		[SP_TIME_CLASS_SAFEPOINT] = "safepoint",
		[SP_TIME_CLASS_SHUFFLE_READ] = "shuffle read wait",
		[SP_TIME_CLASS_SHUFFLE_WRITE] = "shuffle write",
		[SP_TIME_CLASS_SERIALISATION] = "serialisation",
		[SP_TIME_CLASS_STORAGE] = "HDFS/S3",
		[SP_TIME_CLASS_DISK] = "disk",
		[SP_TIME_CLASS_NETWORK] = "network",
		[SP_TIME_CLASS_CHILD] = "pipe or child process",
		[SP_TIME_CLASS_LOCK] = "lock",
		[SP_TIME_CLASS_INIT] = "class initialisation",
		[SP_TIME_CLASS_PYTHON] = "JVM waits for Python",
		[SP_TIME_CLASS_COMPILE] = "codegen compile",
		[SP_TIME_CLASS_LAUNCH] = "task launch and result",
		[SP_TIME_CLASS_WORKER] = "Python CPU",
		[SP_TIME_CLASS_WORKER_SERIAL] = "Python serialisation",
		[SP_TIME_CLASS_WORKER_FOR_JVM] = "Python waits for JVM",
		[SP_TIME_CLASS_WORKER_WAIT] = "Python blocked",
		[SP_TIME_CLASS_SLEEP] = "sleep",
		[SP_TIME_CLASS_IDLE] = "idle",
		[SP_TIME_CLASS_OTHER] = "other",
	};

	return spent < SP_TIME_CLASS_KINDS ? names[spent] : "other";
}

/* @last: the roles of a task's own frames so far, and of the frame before. Leaf to root. */
static void hear_task(struct sp_stack_roles *t, enum role role, enum role last[2])
{
	t->launches |= role == LAUNCHES && last[0] != RUNS;
	t->launches |= role == BODY && (last[1] == SERIAL || last[1] == BROADCAST);
	last[0] = role == RUNS ? role : last[0];
	last[1] = role;
}

struct sp_stack_roles sp_time_class_look(const struct sp_dict *d, const struct sp_frame_ref *frames,
	uint32_t count, struct sp_buf *text, uint8_t *roles, size_t role_count)
{
	enum role last[2] = {UNSEEN, UNSEEN};
	struct sp_stack_roles t = {.looked = true};

	for (uint32_t i = 0; i < count; i++) {
		const struct sp_method *m = sp_dict_get_method(d, frames[i].method);
		uint8_t *known =
			roles && frames[i].method < role_count ? &roles[frames[i].method] : NULL;
		enum role role =
			known && *known ? (enum role) * known : role_of(d, &frames[i], text);

		if (known)
			*known = (uint8_t)role;
		if (frames[i].type == SP_FRAME_PYTHON && !t.python) {
			static const struct sp_style full;

			sp_buf_clear(text);
			sp_frame_name(d, &frames[i], &full, text);
			t.python = true;
			t.pickles = sp_area_is_pickle(sp_buf_str(text));
		}
		if (m && !m->native && !t.java) {
			t.java = true;
			t.native = frames[i].type >= SP_FRAME_NATIVE || i > 0;
		}
		hear(&t, role, m && !m->native);
		hear_task(&t, role, last);
	}
	return t;
}
