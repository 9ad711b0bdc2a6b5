/* See retransform.h. A class that comes later is changed when it is prepared, which is before any
 * of its code runs, and not while it is loaded: a class file that was changed then and fails
 * verification would fail the host. HotSpot hands class files to all threads or to none: those of
 * classes that are being loaded are let go at once. */
#include "retransform.h"

#include "classfile/class_instrument.h"
#include "vm/jni_util.h"

#include <jvmti.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_CLASSES 2000

struct classes {
	jobject *of;
	jint count, cap;
};

/* One per process: JVMTI callbacks carry no pointer of ours. */
static struct {
	jvmtiEnv *ti; /* stays for the life of the JVM, as jvmside.c's does */
	struct sp_retransform_plan plan;
	_Atomic uint32_t on, inside;
	pthread_mutex_t lock; /* for the rest; never held across a call of the JVM */
	struct classes woven; /* weak references */
	uint64_t methods, left_out;
	char left[512];
	bool capable, parks; /* parks: of virtual threads, are timed */
} wv = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool add_class(struct classes *to, jobject o)
{
	if (to->count == to->cap) {
		jint cap = to->cap ? to->cap * 2 : 16;
		jobject *more = realloc(to->of, (size_t)cap * sizeof(*more));

		if (!more)
			return false;
		to->of = more;
		to->cap = cap;
	}
	to->of[to->count++] = o;
	return true;
}

/* Notes what stays as it was; said by the next tick. */
static void note_left(const char *class_name, const char *method, int method_len, const char *why)
{
	size_t used;

	pthread_mutex_lock(&wv.lock);
	used = strlen(wv.left);
	if (used < sizeof(wv.left) / 2)
		snprintf(wv.left + used, sizeof(wv.left) - used, "%s%s%s%.*s %s", used ? "; " : "",
			class_name, method_len ? "." : "", method_len, method, why);
	wv.left_out++;
	pthread_mutex_unlock(&wv.lock);
}

/* "Ljava/util/Map;" becomes "java/util/Map" in @buf; "" for what is no class. */
static const char *class_name_of(jclass c, char *buf, size_t size)
{
	char *signature = NULL;

	buf[0] = '\0';
	if ((*wv.ti)->GetClassSignature(wv.ti, c, &signature, NULL) != JVMTI_ERROR_NONE)
		return buf;
	if (signature[0] == 'L' && strlen(signature) < size)
		snprintf(buf, size, "%.*s", (int)strlen(signature) - 2, signature + 1);
	(*wv.ti)->Deallocate(wv.ti, (unsigned char *)signature);
	return buf;
}

/* What runs before everything else, or is ours, is nobody's to change. */
static bool is_ours(const char *name)
{
	return strcmp(name, "java/lang/Object") == 0 || strncmp(name, "sparkprof/", 10) == 0;
}

static bool class_wanted(const char *name)
{
	return *name && !is_ours(name) &&
	       (sp_method_patterns_of_class(wv.plan.counted, name) ||
		       sp_method_patterns_of_class(wv.plan.timed, name));
}

static bool method_wanted(const char *class_name, const char *method, const char *descriptor)
{
	return sp_method_patterns_find(wv.plan.counted, class_name, method, descriptor) >= 0 ||
	       sp_method_patterns_find(wv.plan.timed, class_name, method, descriptor) >= 0;
}

static bool has_method(jclass c, const char *class_name)
{
	jmethodID *methods = NULL;
	bool found = false;
	jint count = 0;

	if ((*wv.ti)->GetClassMethods(wv.ti, c, &count, &methods) != JVMTI_ERROR_NONE)
		return false;
	for (jint i = 0; i < count; i++) {
		char *name = NULL, *descriptor = NULL;

		if ((*wv.ti)->GetMethodName(wv.ti, methods[i], &name, &descriptor, NULL) !=
			JVMTI_ERROR_NONE)
			continue;
		found |= method_wanted(class_name, name, descriptor);
		sp_method_patterns_mark(wv.plan.counted, class_name, name, descriptor);
		sp_method_patterns_mark(wv.plan.timed, class_name, name, descriptor);
		(*wv.ti)->Deallocate(wv.ti, (unsigned char *)name);
		(*wv.ti)->Deallocate(wv.ti, (unsigned char *)descriptor);
	}
	(*wv.ti)->Deallocate(wv.ti, (unsigned char *)methods);
	return found;
}

/* Would code of @c find the class that it is to call? A loader may hide it. */
static bool finds_hook(JNIEnv *env, jclass c)
{
	jobject loader = NULL;
	jclass cls, found = NULL;
	jmethodID for_name;
	jstring name;
	bool same;

	if ((*wv.ti)->GetClassLoader(wv.ti, c, &loader) != JVMTI_ERROR_NONE)
		return false;
	if (!loader)
		return true;
	cls = (*env)->FindClass(env, "java/lang/Class");
	for_name = cls ? (*env)->GetStaticMethodID(env, cls, "forName",
				 "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;")
		       : NULL;
	name = for_name ? (*env)->NewStringUTF(env, "sparkprof.Calls") : NULL;
	if (name)
		found = (*env)->CallStaticObjectMethod(env, cls, for_name, name, JNI_FALSE, loader);
	same = !sp_jni_failed(env) && found && (*env)->IsSameObject(env, found, wv.plan.hook);
	(*env)->DeleteLocalRef(env, found);
	(*env)->DeleteLocalRef(env, name);
	(*env)->DeleteLocalRef(env, cls);
	(*env)->DeleteLocalRef(env, loader);
	return same;
}

/* Is @c to be changed, and can it be? */
static bool chosen(JNIEnv *env, jclass c)
{
	jboolean modifiable = JNI_FALSE;
	jint status = 0;
	char name[256];

	if (!class_wanted(class_name_of(c, name, sizeof(name))) ||
		(*wv.ti)->GetClassStatus(wv.ti, c, &status) != JVMTI_ERROR_NONE)
		return false;
	if (!(status & JVMTI_CLASS_STATUS_PREPARED)) {
		sp_method_patterns_mark_class(wv.plan.counted, name);
		sp_method_patterns_mark_class(wv.plan.timed, name);
		return false;
	}
	if (!has_method(c, name))
		return false;
	(*wv.ti)->IsModifiableClass(wv.ti, c, &modifiable);
	if (!modifiable)
		note_left(name, "", 0, "cannot be changed");
	else if (!finds_hook(env, c))
		note_left(name, "", 0, "has a class loader that hides sparkprof.Calls");
	else
		return true;
	return false;
}

/* Changes them as on_class_file() says, or, once that is silent, back to what they were. */
static jvmtiError retransform(JNIEnv *env, const jclass *of, jint count)
{
	jvmtiError e = (*wv.ti)->RetransformClasses(wv.ti, count, of);

	sp_jni_failed(env);
	return e;
}

static void note_refused(jclass c, jvmtiError e)
{
	char name[256], why[96], *text = NULL;

	(*wv.ti)->GetErrorName(wv.ti, e, &text);
	snprintf(why, sizeof(why), "is rejected by the JVM (%s)", text ? text : "?");
	note_left(class_name_of(c, name, sizeof(name)), "", 0, why);
	(*wv.ti)->Deallocate(wv.ti, (unsigned char *)text);
}

/* To be changed back. False where there is no memory to note that. */
static bool note_woven(JNIEnv *env, jclass c)
{
	jweak weak = (*env)->NewWeakGlobalRef(env, c);
	bool kept;

	pthread_mutex_lock(&wv.lock);
	kept = weak && add_class(&wv.woven, weak);
	pthread_mutex_unlock(&wv.lock);
	if (weak && !kept)
		(*env)->DeleteWeakGlobalRef(env, weak);
	return kept;
}

/* All at once, for each time stops all threads; one by one where the JVM refuses some. */
static void weave(JNIEnv *env, const jclass *of, jint count)
{
	jint noted = 0;

	while (noted < count && note_woven(env, of[noted]))
		noted++;
	if (!noted || retransform(env, of, noted) == JVMTI_ERROR_NONE)
		return;
	for (jint i = 0; i < noted; i++) {
		jvmtiError e = retransform(env, &of[i], 1);

		if (e != JVMTI_ERROR_NONE)
			note_refused(of[i], e);
	}
}

static bool enter(void)
{
	atomic_fetch_add(&wv.inside, 1);
	if (atomic_load(&wv.on))
		return true;
	atomic_fetch_sub(&wv.inside, 1);
	return false;
}

static void leave(void)
{
	atomic_fetch_sub(&wv.inside, 1);
}

static void JNICALL on_prepare(jvmtiEnv *ti, JNIEnv *env, jthread thread, jclass c)
{
	if (!enter())
		return;
	if (chosen(env, c))
		weave(env, &c, 1);
	leave();
}

static bool has_parks(const char *class_name)
{
	return wv.parks && strcmp(class_name, "java/lang/VirtualThread") == 0;
}

static struct sp_class_instrument_want want(
	void *ctx, struct sp_class_text name, struct sp_class_text descriptor)
{
	char method[256], types[1024];
	struct sp_class_instrument_want w;

	snprintf(method, sizeof(method), "%.*s", (int)name.len, name.s);
	snprintf(types, sizeof(types), "%.*s", (int)descriptor.len, descriptor.s);
	w = (struct sp_class_instrument_want){
		sp_method_patterns_find(wv.plan.counted, ctx, method, types),
		sp_method_patterns_find(wv.plan.timed, ctx, method, types)};
	if (w.timed < 0 && has_parks(ctx) &&
		(strcmp(method, "park") == 0 || strcmp(method, "parkNanos") == 0))
		w.timed = SP_WEAVE_PARK;
	return w;
}

static void left_out(void *ctx, struct sp_class_text name, const char *why)
{
	note_left(ctx, name.s, (int)name.len, why);
}

static void change(
	jvmtiEnv *ti, const char *name, const uint8_t *data, jint len, jint *ret_len, uint8_t **ret)
{
	struct sp_class_instrument rw = {want, left_out, (void *)name};
	SP_AUTO_BUF struct sp_buf out = {0};
	int r = sp_class_instrument_class(&rw, data, (size_t)len, &out);
	unsigned char *to = NULL;

	if (r < 0)
		note_left(name, "", 0,
			r == -EBADMSG ? "has a class file of an unknown form" : "is too large");
	if (r <= 0 || (*ti)->Allocate(ti, (jlong)out.len, &to) != JVMTI_ERROR_NONE)
		return;
	memcpy(to, out.data, out.len);
	*ret = to;
	*ret_len = (jint)out.len;
	pthread_mutex_lock(&wv.lock);
	wv.methods += (uint64_t)r;
	pthread_mutex_unlock(&wv.lock);
}

static void JNICALL on_class_file(jvmtiEnv *ti, JNIEnv *env, jclass redefined, jobject loader,
	const char *name, jobject domain, jint len, const unsigned char *data, jint *ret_len,
	unsigned char **ret)
{
	if (!redefined || !name || !enter())
		return;
	if (class_wanted(name) || has_parks(name))
		change(ti, name, data, len, ret_len, ret);
	leave();
}

/* Those of @all that are to be changed come first. Returns how many. */
static jint choose(JNIEnv *env, jclass *all, jint count)
{
	jint n = 0;

	for (jint i = 0; i < count; i++) {
		if (chosen(env, all[i]))
			all[n++] = all[i];
		else
			(*env)->DeleteLocalRef(env, all[i]);
	}
	return n;
}

static int weave_loaded(JNIEnv *env, struct sp_err *err)
{
	jclass *all = NULL;
	jint count = 0, n;
	int r = 0;

	if ((*wv.ti)->GetLoadedClasses(wv.ti, &count, &all) != JVMTI_ERROR_NONE)
		return sp_err_set(err, -ENOTSUP, "the JVM does not list its classes");
	(*env)->EnsureLocalCapacity(env, count + 64);
	n = choose(env, all, count);
	if (n > MOST_CLASSES)
		r = sp_err_set(err, -EINVAL,
			"%d classes have such methods, at most %d can be instrumented: use a "
			"narrower pattern",
			(int)n, MOST_CLASSES);
	else
		weave(env, all, n);
	for (jint i = 0; i < n; i++)
		(*env)->DeleteLocalRef(env, all[i]);
	(*wv.ti)->Deallocate(wv.ti, (unsigned char *)all);
	return r;
}

static int open_ti(JavaVM *vm, struct sp_err *err)
{
	jvmtiEventCallbacks cb = {.ClassFileLoadHook = on_class_file, .ClassPrepare = on_prepare};
	jvmtiCapabilities caps;

	if (!wv.ti && (*vm)->GetEnv(vm, (void **)&wv.ti, JVMTI_VERSION_1_2) != JNI_OK) {
		wv.ti = NULL;
		return sp_err_set(err, -ENOTSUP, "the JVM does not offer its tool interface");
	}
	memset(&caps, 0, sizeof(caps));
	caps.can_retransform_classes = 1;
	if ((*wv.ti)->AddCapabilities(wv.ti, &caps) != JVMTI_ERROR_NONE)
		return sp_err_set(
			err, -ENOTSUP, "this JVM does not allow classes to be retransformed");
	wv.capable = true;
	(*wv.ti)->SetEventCallbacks(wv.ti, &cb, sizeof(cb));
	return 0;
}

static void set_events(jvmtiEventMode mode)
{
	(*wv.ti)->SetEventNotificationMode(wv.ti, mode, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, NULL);
	(*wv.ti)->SetEventNotificationMode(wv.ti, mode, JVMTI_EVENT_CLASS_PREPARE, NULL);
}

static bool has_methods(void)
{
	return wv.plan.counted->count || wv.plan.timed->count;
}

/* Once there are virtual threads at all. Class files are asked for that long only, unless others
 * want them: they cost whoever loads classes. */
static void weave_parks(JNIEnv *env)
{
	jvmtiEnv *ti = wv.ti;
	jint status = 0;

	if (wv.parks || !wv.plan.virtual ||
		(*ti)->GetClassStatus(ti, wv.plan.virtual, &status) != JVMTI_ERROR_NONE ||
		!(status & JVMTI_CLASS_STATUS_INITIALIZED))
		return;
	wv.parks = true;
	(*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, NULL);
	weave(env, &wv.plan.virtual, 1);
	if (!has_methods())
		set_events(JVMTI_DISABLE);
}

static int weave_methods(JNIEnv *env, struct sp_err *err)
{
	int r;

	set_events(JVMTI_ENABLE);
	r = weave_loaded(env, err);
	if (r == 0 && !wv.methods && !wv.left_out)
		wv.plan.say(wv.plan.ctx, "no class that is loaded so far has such a method; "
					 "classes loaded later are checked too");
	return r;
}

int sp_retransform_start(
	JavaVM *vm, JNIEnv *env, const struct sp_retransform_plan *plan, struct sp_err *err)
{
	int r;

	wv.plan = *plan;
	wv.methods = wv.left_out = 0;
	wv.parks = false;
	wv.left[0] = '\0';
	r = open_ti(vm, err);
	if (r < 0)
		return r;
	atomic_store(&wv.on, 1);
	if (has_methods())
		r = weave_methods(env, err);
	if (r == 0)
		sp_retransform_tick(env);
	return r;
}

void sp_retransform_tick(JNIEnv *env)
{
	char text[sizeof(wv.left) + 64] = "";

	weave_parks(env);
	pthread_mutex_lock(&wv.lock);
	if (wv.left[0])
		snprintf(text, sizeof(text), "left as they are: %s%s", wv.left,
			strlen(wv.left) >= sizeof(wv.left) / 2 ? "; and perhaps others" : "");
	wv.left[0] = '\0';
	pthread_mutex_unlock(&wv.lock);
	if (text[0])
		wv.plan.say(wv.plan.ctx, text);
}

/* The classes that are still there, as local references in the place of the weak ones. */
static jint collect_woven(JNIEnv *env)
{
	jint n = 0;

	for (jint i = 0; i < wv.woven.count; i++) {
		jobject c = (*env)->NewLocalRef(env, wv.woven.of[i]);

		(*env)->DeleteWeakGlobalRef(env, wv.woven.of[i]);
		if (c)
			wv.woven.of[n++] = c;
	}
	return n;
}

static void restore(JNIEnv *env)
{
	jint n = collect_woven(env);

	if (n && retransform(env, wv.woven.of, n) != JVMTI_ERROR_NONE)
		for (jint i = 0; i < n; i++)
			retransform(env, &wv.woven.of[i], 1);
	for (jint i = 0; i < n; i++)
		(*env)->DeleteLocalRef(env, wv.woven.of[i]);
	free(wv.woven.of);
	wv.woven = (struct classes){0};
}

void sp_retransform_stop(JNIEnv *env)
{
	struct timespec ms = {0, 1000000};
	jvmtiPhase phase = JVMTI_PHASE_DEAD;
	jvmtiCapabilities caps;

	if (!wv.capable)
		return;
	atomic_store(&wv.on, 0);
	set_events(JVMTI_DISABLE);
	while (atomic_load(&wv.inside))
		nanosleep(&ms, NULL);
	(*wv.ti)->GetPhase(wv.ti, &phase);
	if (phase == JVMTI_PHASE_LIVE)
		restore(env);
	memset(&caps, 0, sizeof(caps));
	(*wv.ti)->GetCapabilities(wv.ti, &caps);
	(*wv.ti)->RelinquishCapabilities(wv.ti, &caps);
	wv.capable = false;
}
