/* See class_origin.h. */
#include "prof/spark/class_origin.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/path.h"
#include "prof/model/glob.h"

/* Names are kept as hashes: a class is asked for, never listed. */
struct sp_class_origins {
	uint64_t *keys; /* 0: free */
	uint8_t *origins;
	size_t slots, used;
};

/* Packages that are nobody's own, also in a shaded jar. Of domains that anybody may have, the names
 * of libraries alone. */
static const char *const libraries[] = {"org/apache/*", "com/google/*", "com/fasterxml/*",
	"com/amazonaws/*", "software/amazon/*", "com/azure/*", "com/microsoft/*", "com/datastax/*",
	"com/databricks/*", "com/mongodb/*", "com/mysql/*", "com/zaxxer/*", "com/typesafe/*",
	"com/github/*", "io/airlift/*", "io/circe/*", "io/confluent/*", "io/delta/*",
	"io/dropwizard/*", "io/fabric8/*", "io/grpc/*", "io/jsonwebtoken/*", "io/kubernetes/*",
	"io/lettuce/*", "io/micrometer/*", "io/netty/*", "io/opencensus/*", "io/opentelemetry/*",
	"io/perfmark/*", "io/prestosql/*", "io/projectreactor/*", "io/prometheus/*",
	"io/reactivex/*", "io/spray/*", "io/swagger/*", "io/trino/*", "io/vavr/*", "io/vertx/*",
	"net/bytebuddy/*", "net/jcip/*", "net/jodah/*", "net/jpountz/*", "net/minidev/*",
	"net/openhft/*", "net/razorvine/*", "net/sf/*", "net/snowflake/*", "okhttp3/*", "okio/*",
	"org/bson/*", "org/elasticsearch/*", "org/jboss/*", "org/json/*", "org/mongodb/*",
	"org/postgresql/*", "org/springframework/*", "org/yaml/*", "kafka/*", "redis/*", "cats/*",
	"akka/*", "shapeless/*", "*/shaded/*", "shaded/*", "*/shade/*", "*repackaged*",
	"*/relocated/*"};

static size_t dir_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* Whether jars beside it are what Spark was started with. */
static bool marks_spark(const char *path)
{
	const char *base = sp_path_base(path);

	return strncmp(base, "spark-core_", 11) == 0 || strncmp(base, "hadoop-common-", 14) == 0 ||
	       strncmp(base, "hadoop-client-", 14) == 0;
}

static bool beside_spark(const struct sp_profile *p, const char *path)
{
	size_t n = dir_length(path);

	for (size_t i = 0; n && i < p->source_count; i++) {
		const char *other = sp_dict_get_string(p->dict, p->sources[i].location, NULL);

		if (marks_spark(other) && dir_length(other) == n && memcmp(path, other, n) == 0)
			return true;
	}
	return false;
}

/* "org.apache.kafka_kafka-clients-3.4.1.jar", as --packages calls what it fetched. */
static bool is_fetched(const char *path)
{
	const char *base = sp_path_base(path);
	const char *low = strchr(base, '_'), *dot = strchr(base, '.');

	return low && dot && dot < low && strstr(low, ".jar") && strpbrk(low, "0123456789");
}

static bool is_library(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(libraries); i++)
		if (sp_glob(libraries[i], name))
			return true;
	return false;
}

static size_t slot_of(const struct sp_class_origins *o, uint64_t key)
{
	size_t i = key & (o->slots - 1);

	while (o->keys[i] && o->keys[i] != key)
		i = (i + 1) & (o->slots - 1);
	return i;
}

static uint64_t key_of(const char *name, size_t len)
{
	const char *lambda = memmem(name, len, "$$Lambda", 8);
	uint64_t h = sp_hash_bytes(name, lambda ? (size_t)(lambda - name) : len);

	return h ? h : 1;
}

static void put_origin(struct sp_class_origins *o, uint64_t key, enum sp_origin origin)
{
	size_t at = slot_of(o, key);

	o->used += !o->keys[at];
	o->keys[at] = key;
	o->origins[at] = (uint8_t)origin;
}

static void add_source(
	struct sp_class_origins *o, const struct sp_profile *p, const struct sp_class_source *s)
{
	const char *path = sp_dict_get_string(p->dict, s->location, NULL);
	const char *name = sp_dict_get_string(p->dict, s->classes, NULL);
	enum sp_origin of_jar = beside_spark(p, path) ? SP_ORIGIN_SPARK
				: is_fetched(path)    ? SP_ORIGIN_LIBRARY
						      : SP_ORIGIN_YOURS;

	while (*name) {
		size_t n = strcspn(name, "\n");
		char cls[512];
		enum sp_origin origin = of_jar;

		if (n < sizeof(cls) && of_jar == SP_ORIGIN_YOURS) {
			memcpy(cls, name, n);
			cls[n] = 0;
			origin = is_library(cls) ? SP_ORIGIN_LIBRARY : of_jar;
		}
		put_origin(o, key_of(name, n), origin);
		name += n + (name[n] != 0);
	}
}

static size_t count_classes(const struct sp_profile *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->source_count; i++) {
		const char *s = sp_dict_get_string(p->dict, p->sources[i].classes, NULL);

		for (n++; *s; s++)
			n += *s == '\n';
	}
	return n;
}

int sp_class_origins_new(struct sp_class_origins **ret, const struct sp_profile *p)
{
	struct sp_class_origins *o = calloc(1, sizeof(*o));
	size_t n = count_classes(p);

	if (!o)
		return -ENOMEM;
	for (o->slots = 64; o->slots < 2 * n;)
		o->slots *= 2;
	o->keys = calloc(o->slots, sizeof(*o->keys));
	o->origins = calloc(o->slots, 1);
	if (!o->keys || !o->origins) {
		sp_class_origins_free(o);
		return -ENOMEM;
	}
	for (size_t i = 0; i < p->source_count; i++)
		add_source(o, p, &p->sources[i]);
	*ret = o;
	return 0;
}

void sp_class_origins_free(struct sp_class_origins *o)
{
	if (!o)
		return;
	free(o->keys);
	free(o->origins);
	free(o);
}

enum sp_origin sp_class_origin(const struct sp_class_origins *o, const char *name)
{
	size_t at = slot_of(o, key_of(name, strlen(name)));

	return o->keys[at] ? (enum sp_origin)o->origins[at] : SP_ORIGIN_UNKNOWN;
}
