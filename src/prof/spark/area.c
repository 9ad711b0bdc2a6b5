/* Areas: see area.h. The first pattern that matches wins, so what is special stands first. */
#include "prof/area.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "prof/framename.h"
#include "prof/match.h"

enum builtin {
	CODEGEN,
	SQL,
	ENGINE,
	SHUFFLE,
	SERIALISATION,
	COMPRESSION,
	NETWORK,
	STORAGE,
	FORMATS,
	GC,
	JIT,
	PYTHON,
	PYTHON_CODE,
	PICKLE,
	FOR_JVM,
	WAIT,
	KERNEL,
	JVM,
	SPARK,
	YOURS,
	OTHER,
	BUILTINS
};

static const struct sp_area builtins[BUILTINS] = {
	[CODEGEN] = {"SQL codegen", "#2e9e5b"},
	[SQL] = {"Spark SQL", "#35b0a0"},
	[ENGINE] = {"native SQL", "#45b81e"},
	[SHUFFLE] = {"shuffle", "#e07b2c"},
	[SERIALISATION] = {"serialisation", "#8b5fd0"},
	[COMPRESSION] = {"compression", "#c067c9"},
	[NETWORK] = {"network", "#3b6fd6"},
	[STORAGE] = {"HDFS/S3", "#6a9e2f"},
	[FORMATS] = {"Parquet/ORC", "#2aa5c0"},
	[GC] = {"GC", "#d63a55"},
	[JIT] = {"JIT", "#9a5f86"},
	[PYTHON] = {"Python wait", "#d9b81f"},
	[PYTHON_CODE] = {"Python", "#4a4af0"},
	[PICKLE] = {"Python serialisation", "#e014e0"},
	[FOR_JVM] = {"Python waits for JVM", "#a9b6cf"},
	[WAIT] = {"idle", "#b8bec6"},
	[KERNEL] = {"kernel", "#b5533c"},
	[JVM] = {"JVM", "#7f8ca3"},
	[SPARK] = {"Spark", "#b98d3e"},
	[YOURS] = {"your code", "#e0529c"},
	[OTHER] = {"other", "#c2c2c2"},
};

/* NEUTRAL: work done for the caller. */
enum { NEUTRAL = -1 };

static const struct {
	const char *pattern;
	int area;
} table[] = {
	{"*PythonRunner*", PYTHON},
	{"*GeneratedIteratorForCodegenStage*", CODEGEN},
	{"*catalyst/expressions/GeneratedClass*", CODEGEN},
	{"org/apache/spark/sql/catalyst/expressions/codegen/*", CODEGEN},
	{"org/apache/spark/api/python/*", PYTHON},
	{"org/apache/spark/sql/execution/python/*", PYTHON},
	{"org/apache/spark/shuffle/*", SHUFFLE},
	{"org/apache/spark/storage/ShuffleBlockFetcherIterator*", SHUFFLE},
	{"org/apache/spark/util/collection/*", SHUFFLE},
	{"org/apache/spark/network/shuffle/*", SHUFFLE},
	{"org/apache/spark/sql/execution/exchange/*", SHUFFLE},
	{"org/apache/spark/network/util/JavaUtils*", NEUTRAL}, /* md5 in hex, too */
	{"org/apache/spark/network/*", NETWORK},
	{"org/apache/spark/rpc/*", NETWORK},
	{"io/netty/*", NETWORK},
	{"org/sparkproject/jetty/*", NETWORK},
	{"org/eclipse/jetty/*", NETWORK},
	{"org/apache/http/*", NETWORK},
	{"io/grpc/*", NETWORK},
	{"okhttp3/*", NETWORK},
	{"java/net/*", NETWORK},
	{"sun/nio/ch/Socket*", NETWORK},
	{"sun/security/ssl/*", NETWORK},
	{"org/apache/spark/serializer/*", SERIALISATION},
	{"com/esotericsoftware/*", SERIALISATION},
	{"java/io/ObjectInputStream*", SERIALISATION},
	{"java/io/ObjectOutputStream*", SERIALISATION},
	{"org/apache/arrow/*", SERIALISATION},
	{"com/fasterxml/*", SERIALISATION},
	{"com/twitter/chill/*", SERIALISATION},
	{"com/google/protobuf/*", SERIALISATION},
	{"org/apache/thrift/*", SERIALISATION},
	{"org/json4s/*", SERIALISATION},
	{"com/github/luben/zstd/*", COMPRESSION},
	{"net/jpountz/*", COMPRESSION},
	{"org/xerial/snappy/*", COMPRESSION},
	{"java/util/zip/*", COMPRESSION},
	{"ZSTD_*", COMPRESSION},
	{"LZ4_*", COMPRESSION},
	{"org/apache/hadoop/hdfs/*", STORAGE},
	{"org/apache/hadoop/fs/*", STORAGE},
	{"org/apache/hadoop/hive/*", SQL},
	{"org/apache/hadoop/*", STORAGE},
	{"com/amazonaws/*", STORAGE},
	{"software/amazon/*", STORAGE},
	{"com/google/cloud/*", STORAGE},
	{"com/microsoft/azure/*", STORAGE},
	{"com/azure/*", STORAGE},
	{"org/apache/parquet/*", FORMATS},
	{"org/apache/orc/*", FORMATS},
	{"org/apache/avro/*", FORMATS},
	{"org/apache/iceberg/*", FORMATS},
	{"io/delta/*", FORMATS},
	{"org/apache/hudi/*", FORMATS},
	{"org/apache/spark/sql/execution/datasources/*", FORMATS},
	/* engines that take over the operators: Comet, Gluten, Auron (Blaze), RAPIDS */
	{"org/apache/spark/sql/comet/execution/shuffle/*", SHUFFLE},
	{"org/apache/spark/sql/comet/*", ENGINE},
	{"org/apache/comet/parquet/*", FORMATS},
	{"org/apache/comet/*", ENGINE},
	{"org/apache/gluten/*", ENGINE},
	{"io/glutenproject/*", ENGINE},
	{"org/apache/auron/*", ENGINE},
	{"org/apache/spark/sql/auron/*", ENGINE},
	{"org/blaze/*", ENGINE},
	{"org/apache/spark/sql/blaze/*", ENGINE},
	{"com/nvidia/spark/*", ENGINE},
	{"org/apache/spark/sql/rapids/*", ENGINE},
	{"ai/rapids/*", ENGINE},
	{"org/apache/spark/sql/*", SQL},
	{"org/apache/spark/unsafe/*", SQL},
	{"org/codehaus/janino/*", CODEGEN},
	{"org/codehaus/commons/compiler/*", CODEGEN},
	{"java/util/concurrent/ThreadPoolExecutor.getTask", WAIT},
	{"java/util/concurrent/ForkJoinPool.awaitWork", WAIT},
	{"java/lang/ref/Reference.waitForReferencePendingList", WAIT},
	{"org/apache/spark/executor/*", NEUTRAL},
	{"org/apache/spark/scheduler/Task.*", NEUTRAL},
	{"org/apache/spark/scheduler/ResultTask.*", NEUTRAL},
	{"org/apache/spark/scheduler/ShuffleMapTask.*", NEUTRAL},
	{"org/apache/spark/rdd/*", NEUTRAL},
	{"org/apache/spark/*", SPARK},
	{"java/*", NEUTRAL},
	{"javax/*", NEUTRAL},
	{"jdk/*", NEUTRAL},
	{"sun/*", NEUTRAL},
	{"com/sun/*", NEUTRAL},
	{"scala/*", NEUTRAL},
	/* libraries that everybody calls: what they do is their caller's */
	{"org/apache/log4j/*", NEUTRAL},
	{"org/apache/logging/*", NEUTRAL},
	{"org/slf4j/*", NEUTRAL},
	{"ch/qos/logback/*", NEUTRAL},
	{"org/apache/commons/*", NEUTRAL},
	{"com/google/common/*", NEUTRAL},
	{"org/sparkproject/*", NEUTRAL},
	{"com/codahale/metrics/*", NEUTRAL},
	{"org/roaringbitmap/*", NEUTRAL},
	{"it/unimi/*", NEUTRAL},
};

/* Functions of the JVM and C libraries. */
static const struct {
	const char *pattern;
	int area;
} functions[] = {
	{"CompileBroker::*", JIT},
	{"C2Compiler::*", JIT},
	{"Compilation::*", JIT},
	{"Compile::*", JIT},
	{"WorkerThread::run*", GC},
	{"AbstractGangWorker::*", GC},
	{"GangWorker::*", GC},
	{"GCTaskThread::*", GC},
	{"G1*", GC},
	{"Shenandoah*", GC},
	{"PSScavenge*", GC},
	{"PSParallelCompact*", GC},
	{"ParallelScavengeHeap::*", GC},
	{"DefNewGeneration::*", GC},
	{"GenCollectedHeap::*", GC},
	{"GenMarkSweep::*", GC},
	{"SerialHeap::*", GC},
	{"ConcurrentGCThread::*", GC},
	{"VM_G1*", GC},
	{"VM_GenCollect*", GC},
	{"VM_ParallelGC*", GC},
	{"VM_CollectForMetadata*", GC},
	{"ZSTD_*", COMPRESSION},
	{"LZ4_*", COMPRESSION},
	{"snappy::*", COMPRESSION},
	{"lz4_flex::*", COMPRESSION},
	{"snap::*", COMPRESSION},
	{"zstd_safe::*", COMPRESSION},
	{"deflate*", COMPRESSION},
	{"inflate*", COMPRESSION},
	/* crates of DataFusion, Comet and Auron; Velox */
	{"*parquet::*", FORMATS},
	{"*comet::execution::shuffle::*", SHUFFLE},
	{"datafusion*", ENGINE},
	{"<datafusion*", ENGINE},
	{"comet::*", ENGINE},
	{"<comet::*", ENGINE},
	{"arrow_*", ENGINE},
	{"<arrow_*", ENGINE},
	{"object_store::*", ENGINE},
	{"<object_store::*", ENGINE},
	{"tokio::*", ENGINE},
	{"facebook::velox::*", ENGINE},
	{"gluten::*", ENGINE},
};

/* Python frames that serialise, as their names end: "dumps (pyspark/serializers.py)". */
static const char *const python_files[] = {
	"* (pyspark/serializers.py)",
	"* (pyspark/sql/pandas/serializers.py)",
	"* (pyspark/sql/pandas/conversion.py)",
	"* (pyspark/cloudpickle/*",
	"* (pickle.py)",
	"* (pyarrow/*",
};

struct sp_areas {
	struct sp_area areas[SP_AREAS];
	unsigned count, own; /* own: areas of the user's file, first */
	struct {
		char *pattern; /* owned */
		unsigned area;
	} * patterns;
	size_t pattern_count;
	char *names[SP_AREAS]; /* owned: names and colours of the file's areas */
	struct sp_buf text;    /* a frame's name */
};

static int bad_line(const char *file, unsigned line, const char *what, struct sp_err *err)
{
	return sp_err_set(err, -EINVAL,
		"--areas: %s, line %u: %s; write [name] #rrggbb, then a pattern a line", file, line,
		what);
}

/* "[name] #rrggbb" */
static int add_area(struct sp_areas *a, char *line, const char **what)
{
	char *end = strchr(line, ']'), *colour;

	*what = "no ']'";
	if (!end || end == line + 1)
		return -EINVAL;
	*what = "too many areas";
	if (a->own == SP_AREAS - BUILTINS)
		return -EINVAL;
	*end = '\0';
	colour = end + 1 + strspn(end + 1, " \t");
	*what = "not a colour";
	if (*colour && (strlen(colour) != 7 || colour[0] != '#' ||
			       strspn(colour + 1, "0123456789abcdefABCDEF") != 6))
		return -EINVAL;
	if (asprintf(&a->names[a->own], "%s%c%s", line + 1, 0, *colour ? colour : "#1b9e77") < 0) {
		a->names[a->own] = NULL;
		return -ENOMEM;
	}
	a->areas[a->own].name = a->names[a->own];
	a->areas[a->own].colour = a->names[a->own] + strlen(a->names[a->own]) + 1;
	a->own++;
	return 0;
}

static int add_pattern(struct sp_areas *a, const char *line, const char **what)
{
	void *to = reallocarray(a->patterns, a->pattern_count + 1, sizeof(*a->patterns));

	*what = "a pattern before the first [name]";
	if (!to)
		return -ENOMEM;
	a->patterns = to;
	if (a->own == 0)
		return -EINVAL;
	a->patterns[a->pattern_count].pattern = strdup(line);
	a->patterns[a->pattern_count].area = a->own - 1;
	return a->patterns[a->pattern_count++].pattern ? 0 : -ENOMEM;
}

static int read_file(struct sp_areas *a, const char *file, struct sp_err *err)
{
	SP_AUTO_FCLOSE FILE *f = fopen(file, "re");
	SP_AUTO_FREE char *line = NULL;
	const char *what = "";
	size_t cap = 0;
	ssize_t n;
	int r = 0;

	if (!f)
		return sp_err_set(err, -errno, "--areas: %s: %s", file, strerror(errno));
	for (unsigned number = 1; r == 0 && (n = getline(&line, &cap, f)) >= 0; number++) {
		while (n && isspace((unsigned char)line[n - 1]))
			line[--n] = '\0';
		if (line[0] == '[')
			r = add_area(a, line, &what);
		else if (line[0] && line[0] != '#')
			r = add_pattern(a, line, &what);
		if (r == -EINVAL)
			return bad_line(file, number, what, err);
	}
	return r < 0 ? sp_err_set(err, r, "out of memory") : 0;
}

int sp_areas_new(struct sp_areas **ret, const char *file, struct sp_err *err)
{
	struct sp_areas *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return sp_err_set(err, -ENOMEM, "out of memory");
	sp_buf_init(&a->text);
	r = file ? read_file(a, file, err) : 0;
	if (r < 0) {
		sp_areas_free(a);
		return r;
	}
	memcpy(a->areas + a->own, builtins, sizeof(builtins));
	a->count = a->own + BUILTINS;
	*ret = a;
	return 0;
}

void sp_areas_free(struct sp_areas *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->pattern_count; i++)
		free(a->patterns[i].pattern);
	for (unsigned i = 0; i < a->own; i++)
		free(a->names[i]);
	free(a->patterns);
	sp_buf_done(&a->text);
	free(a);
}

unsigned sp_areas_count(const struct sp_areas *a)
{
	return a->count;
}

const struct sp_area *sp_areas_get(const struct sp_areas *a, unsigned area)
{
	return area < a->count ? &a->areas[area] : NULL;
}

static int number(const struct sp_areas *a, int builtin)
{
	return builtin < 0 ? builtin : (int)a->own + builtin;
}

bool sp_area_is_pickle(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(python_files); i++)
		if (sp_match(python_files[i], name))
			return true;
	return false;
}

unsigned sp_area_in_state(const struct sp_areas *a, unsigned area, const char *state)
{
	bool waits = state[0] && strcmp(state, "running") != 0 && strcmp(state, "runnable") != 0;

	return waits && area == (unsigned)number(a, PICKLE) ? (unsigned)number(a, FOR_JVM) : area;
}

int sp_area_of_frame(const struct sp_areas *a, const char *name, enum sp_frame_type type)
{
	for (size_t i = 0; i < a->pattern_count; i++)
		if (sp_match(a->patterns[i].pattern, name))
			return (int)a->patterns[i].area;
	if (type == SP_FRAME_PYTHON) {
		return number(a, sp_area_is_pickle(name) ? PICKLE : PYTHON_CODE);
	}
	if (type >= SP_FRAME_NATIVE) {
		for (size_t i = 0; type != SP_FRAME_KERNEL && i < SP_COUNT(functions); i++)
			if (sp_match(functions[i].pattern, name))
				return number(a, functions[i].area);
		return NEUTRAL;
	}
	for (size_t i = 0; i < SP_COUNT(table); i++)
		if (sp_match(table[i].pattern, name))
			return number(a, table[i].area);
	return number(a, YOURS);
}

int sp_area_of_ref(struct sp_areas *a, const struct sp_dict *d, const struct sp_frame_ref *f)
{
	static const struct sp_style full;
	const struct sp_method *m = sp_dict_get_method(d, f->method);

	if (!m || (!m->native && !m->name_id))
		return NEUTRAL; /* the class of an object is no work */
	sp_buf_clear(&a->text);
	sp_framename(d, f, &full, &a->text);
	return sp_area_of_frame(a, sp_buf_str(&a->text), (enum sp_frame_type)f->type);
}

unsigned sp_area_unclear(const struct sp_areas *a, enum sp_frame_type leaf, bool java)
{
	if (leaf == SP_FRAME_KERNEL)
		return (unsigned)number(a, KERNEL);
	return (unsigned)number(a, java ? OTHER : JVM);
}

unsigned sp_area_of_stack(struct sp_areas *a, const struct sp_dict *d,
	const struct sp_frame_ref *frames, uint32_t count)
{
	bool java = count == 0;

	for (uint32_t i = 0; i < count; i++) {
		int area = sp_area_of_ref(a, d, &frames[i]);

		if (area >= 0)
			return (unsigned)area;
		java |= frames[i].type < SP_FRAME_NATIVE;
	}
	return sp_area_unclear(
		a, count ? (enum sp_frame_type)frames[0].type : SP_FRAME_NATIVE, java);
}
