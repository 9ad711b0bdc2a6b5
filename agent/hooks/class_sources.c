/* See class_sources.h. */
#include "class_sources.h"

#include "base/clock.h"
#include "base/hash.h"
#include "vm/jni_util.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CLASSES = 4096, /* a power of two; half of it is used */
	NAMES = 192 << 10,
	LOCATIONS = 256,
	LOCATION_BYTES = 48 << 10,
	TEXT = 8192,	    /* of one event */
	REFERENCES = 65536, /* HotSpot allows no more: MaxJNILocalCapacity */
};

#define FIRST_NS  2000000000ull
#define PERIOD_NS 10000000000ull
#define COST	  200 /* a look that took so long waits 200 times that */

enum state { FREE, WANTED, ASKED, FOUND };

struct class_entry {
	uint64_t hash;
	uint32_t name; /* offset */
	uint16_t location;
	uint8_t state;
	bool written; /* in this chunk */
};

struct sp_class_sources {
	pthread_mutex_t lock; /* never held while the JVM is called */
	struct class_entry classes[CLASSES];
	char names[NAMES], places[LOCATION_BYTES];
	uint32_t count, wanted, names_used, places_used;
	uint32_t unwritten;	   /* of those that were found, in this chunk */
	uint32_t place[LOCATIONS]; /* offsets */
	uint16_t place_count;
	bool spark, hurry;
	uint32_t seen; /* methods of the dictionary; the collector's */
	uint64_t next_ns;
	char text[TEXT]; /* the collector's */
	/* what was looked up in the JVM; the attached thread's */
	bool looked, usable;
	jmethodID domain_method;
	jfieldID domain_field, source, url, path;
};

/* JVMTI environments stay: see unhook() in jvmti_thread.c. One for all recordings. */
static jvmtiEnv *tools;

int sp_class_sources_new(struct sp_class_sources **ret)
{
	struct sp_class_sources *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	s->next_ns = sp_clock_mono_ns() + FIRST_NS;
	*ret = s;
	return 0;
}

void sp_class_sources_free(struct sp_class_sources *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* A lambda came from where its host came. */
static size_t host_length(const char *name, size_t len)
{
	const char *lambda = memmem(name, len, "$$Lambda", 8);

	return lambda ? (size_t)(lambda - name) : len;
}

static bool starts(const char *name, size_t len, const char *word)
{
	return len >= strlen(word) && memcmp(name, word, strlen(word)) == 0;
}

/* Classes of the JDK, of Scala and those that are generated need no jar to be known. */
static bool is_plain(const char *name, size_t len)
{
	static const char *const known[] = {
		"java/", "javax/", "jdk/", "sun/", "com/sun/", "scala/"};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (starts(name, len, known[i]))
			return false;
	return len > 0 && name[0] != '[' && !memmem(name, len, "/GeneratedClass", 15) &&
	       !memmem(name, len, "$Proxy", 6) && !memmem(name, len, "Accessor", 8);
}

/* Where it is, or a free place for it. Under the lock. */
static struct class_entry *find_class(struct sp_class_sources *s, const char *name, size_t len)
{
	uint64_t h = sp_hash_bytes(name, len);
	size_t i = h & (CLASSES - 1);

	for (; s->classes[i].state; i = (i + 1) & (CLASSES - 1))
		if (s->classes[i].hash == h &&
			strncmp(s->names + s->classes[i].name, name, len) == 0 &&
			!s->names[s->classes[i].name + len])
			break;
	s->classes[i].hash = h;
	return &s->classes[i];
}

static void want(struct sp_class_sources *s, const char *name, size_t len)
{
	struct class_entry *e = find_class(s, name, len);

	if (e->state || s->count >= CLASSES / 2 || len >= NAMES - s->names_used)
		return;
	e->name = s->names_used;
	e->state = WANTED;
	e->written = false;
	memcpy(s->names + s->names_used, name, len);
	s->names[s->names_used + len] = 0;
	s->names_used += (uint32_t)len + 1;
	s->count++;
	s->wanted++;
	s->spark |= starts(name, len, "org/apache/spark/");
}

void sp_class_sources_want(struct sp_class_sources *s, const struct sp_dict *d)
{
	uint32_t methods = sp_dict_methods(d), last = 0;

	pthread_mutex_lock(&s->lock);
	while (s->seen < methods) {
		const struct sp_method *m = sp_dict_get_method(d, ++s->seen);
		const char *name;
		size_t len;

		if (m->native || m->class_id == last)
			continue;
		last = m->class_id;
		name = sp_dict_get_string(d, last, &len);
		len = host_length(name, len);
		if (is_plain(name, len))
			want(s, name, len);
	}
	pthread_mutex_unlock(&s->lock);
}

void sp_class_sources_reset(struct sp_class_sources *s)
{
	pthread_mutex_lock(&s->lock);
	s->seen = s->unwritten = 0;
	for (size_t i = 0; i < CLASSES; i++) {
		s->classes[i].written = false;
		s->unwritten += s->classes[i].state == FOUND;
	}
	pthread_mutex_unlock(&s->lock);
}

/* The next classes of a place that were not written yet, into s->text. Returns whether there are.
 */
static bool list_classes(struct sp_class_sources *s, uint16_t place)
{
	size_t at = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < CLASSES; i++) {
		struct class_entry *e = &s->classes[i];
		const char *name = s->names + e->name;
		size_t len = e->state == FOUND ? strlen(name) : 0;

		if (e->state != FOUND || e->written || e->location != place || at + len + 2 > TEXT)
			continue;
		if (at)
			s->text[at++] = '\n';
		memcpy(s->text + at, name, len);
		at += len;
		e->written = true;
		s->unwritten--;
	}
	s->text[at] = 0;
	pthread_mutex_unlock(&s->lock);
	return at > 0;
}

void sp_class_sources_write(struct sp_class_sources *s,
	void (*fn)(void *ctx, const char *location, const char *classes), void *ctx)
{
	uint16_t count;

	pthread_mutex_lock(&s->lock);
	count = s->unwritten ? s->place_count : 0;
	pthread_mutex_unlock(&s->lock);
	for (uint16_t i = 0; i < count; i++)
		while (list_classes(s, i))
			fn(ctx, s->places + s->place[i], s->text);
}

void sp_class_sources_hurry(struct sp_class_sources *s)
{
	pthread_mutex_lock(&s->lock);
	s->hurry = true;
	pthread_mutex_unlock(&s->lock);
}

static jfieldID field_id(JNIEnv *env, const char *cls, const char *name, const char *sig)
{
	jclass c = (*env)->FindClass(env, cls);
	jfieldID id = c ? (*env)->GetFieldID(env, c, name, sig) : NULL;

	return sp_jni_failed(env) ? NULL : id;
}

/* Class has a native method for it up to JDK 24, and a field since (JDK-8349145). */
static void look_up(struct sp_class_sources *s, JNIEnv *env)
{
	static const char domain[] = "Ljava/security/ProtectionDomain;";
	jclass c = (*env)->FindClass(env, "java/lang/Class");

	s->looked = true;
	if (sp_jni_failed(env) || !c)
		return;
	s->domain_method = (*env)->GetMethodID(
		env, c, "getProtectionDomain0", "()Ljava/security/ProtectionDomain;");
	if (sp_jni_failed(env))
		s->domain_method = NULL;
	if (!s->domain_method)
		s->domain_field = field_id(env, "java/lang/Class", "protectionDomain", domain);
	s->source = field_id(
		env, "java/security/ProtectionDomain", "codesource", "Ljava/security/CodeSource;");
	s->url = field_id(env, "java/security/CodeSource", "location", "Ljava/net/URL;");
	s->path = field_id(env, "java/net/URL", "path", "Ljava/lang/String;");
	s->usable = (s->domain_method || s->domain_field) && s->source && s->url && s->path;
}

/* The path of its code source; "" where it has none. */
static void read_path(struct sp_class_sources *s, JNIEnv *env, jclass c, char *ret, size_t size)
{
	jobject domain, source = NULL, url = NULL;
	jstring path = NULL;

	ret[0] = 0;
	if ((*env)->PushLocalFrame(env, 8) < 0) {
		sp_jni_failed(env);
		return;
	}
	domain = s->domain_method ? (*env)->CallObjectMethod(env, c, s->domain_method)
				  : (*env)->GetObjectField(env, c, s->domain_field);
	if (!sp_jni_failed(env) && domain)
		source = (*env)->GetObjectField(env, domain, s->source);
	if (source)
		url = (*env)->GetObjectField(env, source, s->url);
	if (url)
		path = (*env)->GetObjectField(env, url, s->path);
	if (path)
		sp_jni_text(env, path, ret, size);
	sp_jni_failed(env);
	(*env)->PopLocalFrame(env, NULL);
}

/* The number of a place, LOCATIONS where there is no room. Under the lock. */
static uint16_t place_of(struct sp_class_sources *s, const char *path)
{
	size_t len = strlen(path);

	for (uint16_t i = 0; i < s->place_count; i++)
		if (strcmp(s->places + s->place[i], path) == 0)
			return i;
	if (s->place_count == LOCATIONS || len >= LOCATION_BYTES - s->places_used)
		return LOCATIONS;
	s->place[s->place_count] = s->places_used;
	memcpy(s->places + s->places_used, path, len + 1);
	s->places_used += (uint32_t)len + 1;
	return s->place_count++;
}

/* @sig: "Lorg/acme/Job;". */
static void take_class(struct sp_class_sources *s, JNIEnv *env, jclass c, const char *sig)
{
	size_t len = strlen(sig);
	struct class_entry *e;
	char path[1024];
	bool is_wanted;

	if (len < 3 || sig[0] != 'L' || !is_plain(sig + 1, len - 2))
		return;
	pthread_mutex_lock(&s->lock);
	is_wanted = find_class(s, sig + 1, len - 2)->state == WANTED;
	pthread_mutex_unlock(&s->lock);
	if (!is_wanted)
		return;
	read_path(s, env, c, path, sizeof(path));
	pthread_mutex_lock(&s->lock);
	e = find_class(s, sig + 1, len - 2);
	e->location = path[0] ? place_of(s, path) : LOCATIONS;
	e->state = e->location < LOCATIONS ? FOUND : ASKED;
	s->unwritten += e->state == FOUND;
	s->wanted--;
	pthread_mutex_unlock(&s->lock);
}

/* Those that are not loaded any more, or under a name of their own, are not asked for again. */
static void give_up(struct sp_class_sources *s, uint32_t until)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < CLASSES; i++) {
		if (s->classes[i].state != WANTED || s->classes[i].name >= until)
			continue;
		s->classes[i].state = ASKED;
		s->wanted--;
	}
	pthread_mutex_unlock(&s->lock);
}

static void look_at_classes(struct sp_class_sources *s, JNIEnv *env, uint32_t until)
{
	jclass *list = NULL;
	jint n = 0;

	if (!s->looked)
		look_up(s, env);
	/* a reference for each class: so many that -Xcheck:jni wants them announced */
	if (!s->usable || (*env)->PushLocalFrame(env, REFERENCES) < 0) {
		sp_jni_failed(env);
		return;
	}
	if ((*tools)->GetLoadedClasses(tools, &n, &list) != JVMTI_ERROR_NONE)
		n = 0;
	for (jint i = 0; i < n; i++) {
		char *sig = NULL;

		if ((*tools)->GetClassSignature(tools, list[i], &sig, NULL) == JVMTI_ERROR_NONE)
			take_class(s, env, list[i], sig);
		(*tools)->Deallocate(tools, (unsigned char *)sig);
		(*env)->DeleteLocalRef(env, list[i]);
	}
	(*tools)->Deallocate(tools, (unsigned char *)list);
	(*env)->PopLocalFrame(env, NULL);
	if (n)
		give_up(s, until);
}

static void tick(void *ctx, JNIEnv *env)
{
	struct sp_class_sources *s = ctx;
	uint64_t now = sp_clock_mono_ns();
	uint32_t until;
	bool due;

	pthread_mutex_lock(&s->lock);
	due = s->spark && s->wanted && (s->hurry || now >= s->next_ns);
	until = s->names_used;
	s->hurry = false;
	pthread_mutex_unlock(&s->lock);
	if (!due || !tools)
		return;
	look_at_classes(s, env, until);
	s->next_ns = sp_clock_mono_ns() + PERIOD_NS + COST * (sp_clock_mono_ns() - now);
}

/* Not worth failing for. */
static int start(void *ctx, JavaVM *vm, JNIEnv *env, struct sp_err *err)
{
	if (!tools && sp_jni_tools(vm, &tools) < 0)
		tools = NULL;
	return 0;
}

static void stop(void *ctx, JNIEnv *env)
{
}

struct sp_jvm_guest sp_class_sources_guest(struct sp_class_sources *s)
{
	return (struct sp_jvm_guest){.start = start, .tick = tick, .stop = stop, .ctx = s};
}
