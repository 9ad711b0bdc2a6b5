/* See spent.h. A frame has a role; the roles of a stack, leaf to root, make what it tells whatever
 * the state; both are kept, so that a row costs a look at its state. */
#include "prof/spent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "prof/area.h"
#include "prof/framename.h"
#include "prof/match.h"

/* What a frame is. From OWNER on: someone's own work, where the search for who waits ends. */
enum role {
	UNSEEN,
	NEUTRAL, /* does what its callers want */
	COMMITS, /* the same; a sync that it calls is shuffle write */
	SYNCS,	 /* waits for the disk to have a file */
	FILES,	 /* the same; by calls on a file */
	SOCKETS, /* the same; by calls on a socket */
	BLOCKS,	 /* the same; by waiting for another thread */
	SERIAL,	 /* works itself, but does not wait for itself */
	CODEC,	 /* the same */
	IDLE,
	COLLECTOR,
	COMPILES,
	WRITES,
	COLLECTS,
	OWNER,
	LOOPS, /* waits for work, where it waits */
	SPILLS,
	PYTHON,
	FETCHES,
	STORAGE,
	NETWORK,
	ENGINE, /* another SQL engine, in native code */
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
	{"io/netty/channel/nio/NioEventLoop*", LOOPS},
	{"io/netty/channel/nio/NioIoHandler*", LOOPS},
	{"io/netty/channel/SingleThreadIoEventLoop*", LOOPS},
	{"io/netty/channel/epoll/EpollEventLoop*", LOOPS},
	{"io/netty/channel/epoll/EpollIoHandler*", LOOPS},
	{"java/io/ObjectInputStream*", SERIAL},
	{"java/io/ObjectOutputStream*", SERIAL},
	{"java/io/FileDescriptor.sync*", SYNCS},
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
	{"java/util/zip/*", CODEC},
	{"java/*", NEUTRAL},
	{"javax/*", NEUTRAL},
	{"jdk/*", NEUTRAL},
	{"sun/*", NEUTRAL},
	{"com/sun/*", NEUTRAL},
	{"scala/*", NEUTRAL},
	{"org/codehaus/janino/*", COMPILES},
	{"org/codehaus/commons/compiler/*", COMPILES},
	{"org/apache/spark/sql/catalyst/expressions/codegen/CodeGenerator*", COMPILES},
	{"*PythonRunner*", PYTHON},
	{"org/apache/spark/api/python/*", PYTHON},
	{"org/apache/spark/sql/execution/python/*", PYTHON},
	{"org/apache/spark/storage/TimeTrackingOutputStream*", WRITES},
	{"org/apache/spark/shuffle/sort/BypassMergeSortShuffleWriter.writePartitionedData*",
		WRITES},
	{"org/apache/spark/shuffle/sort/UnsafeShuffleWriter.mergeSpillsWithTransferTo*", WRITES},
	{"org/apache/spark/shuffle/sort/io/*", WRITES},
	{"org/apache/spark/shuffle/IndexShuffleBlockResolver.writeMetadata*", WRITES},
	{"org/apache/spark/shuffle/IndexShuffleBlockResolver.writeIndex*", WRITES},
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
	{"org/apache/spark/rpc/*", NETWORK},
	{"io/netty/channel/nio/SelectedSelectionKeySetSelector*", NEUTRAL},
	{"io/netty/*", NETWORK},
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
	{"ShenandoahHeap::*", COLLECTOR},
	{"ShenandoahController::*", COLLECTOR},
	{"ZPageAllocator::*", COLLECTOR},
	{"GCLocker::*", COLLECTOR},
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
	{"ObjectMonitor::*", BLOCKS},
};

enum tells {
	TELLS_IDLE = 1,
	TELLS_GC = 2,
	TELLS_COMPILES = 4,
	TELLS_WRITES = 8,
	TELLS_SPILLS = 16,
	TELLS_COLLECTS = 32, /* a thread of the collector */
	TELLS_SYNCS = 64,
};

/* What a stack tells whatever the thread's state. */
struct told {
	bool looked;
	uint8_t tells;
	uint8_t call;	/* role of the first frames: FILES, SOCKETS, BLOCKS or NEUTRAL */
	uint8_t worker; /* of the nearest frame that works itself: SERIAL, CODEC, from OWNER on */
	uint8_t owner;	/* the same from OWNER on */
	bool java;	/* has a Java method */
	bool native;	/* its first Java method is a native one, or calls such code */
	bool python;	/* has a function of Python … */
	bool pickles;	/* … and the nearest to the leaf serialises */
};

static enum role role_of(const struct sp_dict *d, const struct sp_frame_ref *f, struct sp_buf *text)
{
	static const struct sp_style full;
	const struct sp_method *m = sp_dict_get_method(d, f->method);

	if (!m || (!m->native && !m->name_id))
		return NEUTRAL;
	sp_buf_clear(text);
	sp_framename(d, f, &full, text);
	if (m->native) {
		for (size_t i = 0; i < SP_COUNT(functions); i++)
			if (sp_match(functions[i].pattern, sp_buf_str(text)))
				return functions[i].role;
		return NEUTRAL;
	}
	for (size_t i = 0; i < SP_COUNT(table); i++)
		if (sp_match(table[i].pattern, sp_buf_str(text)))
			return table[i].role;
	return OWNER;
}

static void hear(struct told *t, enum role role, bool java)
{
	static const uint8_t tells[] = {[IDLE] = TELLS_IDLE,
		[COLLECTOR] = TELLS_GC,
		[COMPILES] = TELLS_COMPILES,
		[WRITES] = TELLS_WRITES,
		[SPILLS] = TELLS_SPILLS,
		[COLLECTS] = TELLS_COLLECTS,
		[SYNCS] = TELLS_SYNCS};

	if (role < SP_COUNT(tells))
		t->tells |= tells[role];
	if (role == COMMITS && (t->tells & TELLS_SYNCS))
		t->tells |= TELLS_WRITES;
	if (role == SYNCS)
		role = FILES;
	/* What the thread itself called lies above all who work. */
	if (!t->call && role >= FILES && role <= BLOCKS && !t->worker)
		t->call = (uint8_t)role;
	if (java && !t->worker && (role == SERIAL || role == CODEC || role >= OWNER))
		t->worker = (uint8_t)role;
	if (java && !t->owner && role >= OWNER)
		t->owner = (uint8_t)role;
}

static bool is_waiting(const struct told *t, const char *state)
{
	if (strcmp(state, "runnable") == 0)
		return t->call == BLOCKS || (t->call == SOCKETS && t->native);
	return state[0] && strcmp(state, "running") != 0;
}

static enum sp_spent of_state(const struct told *t, const char *state)
{
	if (strcmp(state, "disk") == 0)
		return SP_SPENT_DISK;
	if (strcmp(state, "net") == 0 || strcmp(state, "poll") == 0)
		return SP_SPENT_NETWORK;
	if (strcmp(state, "sleep") == 0)
		return SP_SPENT_SLEEP;
	if (strcmp(state, "lock") == 0 || t->call == BLOCKS)
		return SP_SPENT_LOCK;
	if (t->call == FILES)
		return SP_SPENT_DISK;
	return t->call == SOCKETS ? SP_SPENT_NETWORK : SP_SPENT_OTHER;
}

static enum sp_spent of_waiting(const struct told *t, const char *state)
{
	enum sp_spent by_state = of_state(t, state);

	if (!t->java || t->owner == LOOPS)
		return SP_SPENT_IDLE;
	switch (t->owner) {
	case PYTHON:
		return SP_SPENT_PYTHON;
	case STORAGE:
		return SP_SPENT_STORAGE;
	case FETCHES: /* blocks of this executor are opened in there as well */
		return by_state == SP_SPENT_DISK ? by_state : SP_SPENT_SHUFFLE_READ;
	case NETWORK:
		return by_state == SP_SPENT_DISK ? by_state : SP_SPENT_NETWORK;
	case ENGINE: /* woken before it was seen: its threads wait for each other, else it is told
		      */
		return by_state == SP_SPENT_OTHER && t->native ? SP_SPENT_LOCK : by_state;
	default:
		return by_state;
	}
}

static enum sp_spent of_running(const struct told *t)
{
	if (!t->java)
		return t->tells & TELLS_COLLECTS ? SP_SPENT_GC : SP_SPENT_CPU;
	if (t->call == FILES && t->native)
		return SP_SPENT_DISK;
	if (t->call == SOCKETS && t->native)
		return t->owner == PYTHON    ? SP_SPENT_PYTHON
		       : t->owner == STORAGE ? SP_SPENT_STORAGE
					     : SP_SPENT_NETWORK;
	return t->worker == SERIAL ? SP_SPENT_SERIALISATION : SP_SPENT_CPU;
}

static enum sp_spent of_worker(const struct told *t, const char *state)
{
	if (!state[0] || strcmp(state, "running") == 0 || strcmp(state, "runnable") == 0)
		return t->pickles ? SP_SPENT_WORKER_SERIAL : SP_SPENT_WORKER;
	return t->pickles ? SP_SPENT_WORKER_FOR_JVM : SP_SPENT_WORKER_WAIT;
}

static enum sp_spent judge(const struct told *t, const char *state)
{
	if (t->python)
		return of_worker(t, state);
	if (t->tells & TELLS_IDLE)
		return SP_SPENT_IDLE;
	/* One that is let go again and has no core waits for that, not for the collector. */
	if (t->java && (t->tells & TELLS_GC) && strcmp(state, "runnable") != 0)
		return SP_SPENT_GC;
	if (t->tells & TELLS_COMPILES)
		return SP_SPENT_COMPILE;
	/* A spill of a sort or an aggregation goes through the same streams. */
	if (t->tells & TELLS_WRITES)
		return t->tells & TELLS_SPILLS ? SP_SPENT_DISK : SP_SPENT_SHUFFLE_WRITE;
	return is_waiting(t, state) ? of_waiting(t, state) : of_running(t);
}

const char *sp_spent_name(enum sp_spent spent)
{
	static const char *const names[SP_SPENT_KINDS] = {
		[SP_SPENT_CPU] = "CPU",
		[SP_SPENT_GC] = "GC",
		[SP_SPENT_SHUFFLE_READ] = "shuffle read wait",
		[SP_SPENT_SHUFFLE_WRITE] = "shuffle write",
		[SP_SPENT_SERIALISATION] = "serialisation",
		[SP_SPENT_STORAGE] = "HDFS/S3",
		[SP_SPENT_DISK] = "disk",
		[SP_SPENT_NETWORK] = "network",
		[SP_SPENT_LOCK] = "lock",
		[SP_SPENT_PYTHON] = "Python wait",
		[SP_SPENT_COMPILE] = "codegen compile",
		[SP_SPENT_WORKER] = "Python CPU",
		[SP_SPENT_WORKER_SERIAL] = "Python serialisation",
		[SP_SPENT_WORKER_FOR_JVM] = "Python waits for JVM",
		[SP_SPENT_WORKER_WAIT] = "Python waits",
		[SP_SPENT_SLEEP] = "sleep",
		[SP_SPENT_IDLE] = "idle",
		[SP_SPENT_OTHER] = "other",
	};

	return spent < SP_SPENT_KINDS ? names[spent] : "other";
}

struct sp_spent_of {
	const struct sp_profile *p;
	struct told *stacks; /* by id */
	size_t stack_count;
	uint8_t *roles; /* by method */
	size_t method_count;
	struct told *kinds; /* owned */
	unsigned kind_count;
	struct sp_buf text;
};

/* @roles: what methods are, as far as it is known; NULL: nothing is kept. */
static struct told look(const struct sp_dict *d, const struct sp_frame_ref *frames, uint32_t count,
	struct sp_buf *text, uint8_t *roles, size_t role_count)
{
	struct told t = {.looked = true};

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
			sp_framename(d, &frames[i], &full, text);
			t.python = true;
			t.pickles = sp_area_is_pickle(sp_buf_str(text));
		}
		if (m && !m->native && !t.java) {
			t.java = true;
			t.native = frames[i].type >= SP_FRAME_NATIVE || i > 0;
		}
		hear(&t, role, m && !m->native);
	}
	return t;
}

enum sp_spent sp_spent_of_stack(const struct sp_dict *d, const struct sp_frame_ref *frames,
	uint32_t count, const char *state)
{
	SP_AUTO_BUF struct sp_buf text;
	struct told t;

	sp_buf_init(&text);
	t = look(d, frames, count, &text, NULL, 0);
	return judge(&t, state);
}

int sp_spent_new(struct sp_spent_of **ret, const struct sp_profile *p)
{
	struct sp_spent_of *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	sp_buf_init(&s->text);
	s->p = p;
	s->stack_count = sp_dict_stacks(p->dict) + 1ul;
	s->method_count = sp_dict_methods(p->dict) + 1ul;
	s->stacks = calloc(s->stack_count, sizeof(*s->stacks));
	s->roles = calloc(s->method_count, 1);
	if (!s->stacks || !s->roles) {
		sp_spent_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void sp_spent_free(struct sp_spent_of *s)
{
	if (!s)
		return;
	free(s->stacks);
	free(s->roles);
	free(s->kinds);
	sp_buf_done(&s->text);
	free(s);
}

static const struct told *told_of(struct sp_spent_of *s, uint32_t stack)
{
	struct told *t = &s->stacks[stack < s->stack_count ? stack : 0];

	if (!t->looked) {
		const struct sp_stack *st = sp_dict_get_stack(s->p->dict, stack);

		*t = look(s->p->dict, st ? st->frames : NULL, st ? st->count : 0, &s->text,
			s->roles, s->method_count);
	}
	return t;
}

enum sp_spent sp_spent_of_row(struct sp_spent_of *s, const struct sp_sample *row)
{
	return judge(told_of(s, row->stack), sp_dict_get_string(s->p->dict, row->state, NULL));
}

int sp_spent_kind(struct sp_spent_of *s, uint32_t stack)
{
	const struct told *t = told_of(s, stack);
	struct told *to;

	for (unsigned i = 0; i < s->kind_count; i++)
		if (memcmp(&s->kinds[i], t, sizeof(*t)) == 0) /* bytes only, so no padding */
			return (int)i;
	to = reallocarray(s->kinds, s->kind_count + 1ul, sizeof(*to));
	if (!to)
		return -ENOMEM;
	s->kinds = to;
	s->kinds[s->kind_count] = *t;
	return (int)s->kind_count++;
}

unsigned sp_spent_kinds(const struct sp_spent_of *s)
{
	return s->kind_count;
}

enum sp_spent sp_spent_of_kind(const struct sp_spent_of *s, unsigned kind, const char *state)
{
	return judge(&s->kinds[kind], state);
}
