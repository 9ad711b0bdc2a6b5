/* The native half of the target Storm: critical sections, calls back into Java, exceptions,
 * references, monitors, threads that attach with stacks and guards of several sizes, and
 * redefinition by JVMTI where the JDK has no java.instrument. */
#include <jvmti.h>

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static JavaVM *vm;
static jvmtiEnv *tools;
static jclass storm;
static jmethodID guest, thrower, again;

static jmethodID method(JNIEnv *env, const char *name, const char *sig)
{
	return storm ? (*env)->GetStaticMethodID(env, storm, name, sig) : NULL;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *v, void *reserved)
{
	jvmtiCapabilities caps;
	JNIEnv *env;

	vm = v;
	if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
		return JNI_ERR;
	memset(&caps, 0, sizeof(caps));
	caps.can_redefine_classes = 1;
	if ((*vm)->GetEnv(vm, (void **)&tools, JVMTI_VERSION_1_2) != JNI_OK ||
		(*tools)->AddCapabilities(tools, &caps) != JVMTI_ERROR_NONE)
		return JNI_ERR;
	return JNI_VERSION_1_8;
}

JNIEXPORT void JNICALL Java_Storm_prepare(JNIEnv *env, jclass c)
{
	storm = (*env)->NewGlobalRef(env, c);
	guest = method(env, "attached", "(I)V");
	thrower = method(env, "thrower", "(I)V");
	again = method(env, "again", "(I)I");
}

/* 0, or JVMTI's error. */
JNIEXPORT jint JNICALL Java_Storm_redefine0(JNIEnv *env, jclass c, jclass what, jbyteArray bytes)
{
	jint n = (*env)->GetArrayLength(env, bytes);
	unsigned char *copy = malloc((size_t)n);
	jvmtiClassDefinition d = {what, n, copy};
	jint r;

	(*env)->GetByteArrayRegion(env, bytes, 0, n, (jbyte *)copy);
	r = (jint)(*tools)->RedefineClasses(tools, 1, &d);
	free(copy);
	return r;
}

static uint32_t sum(const unsigned char *p, jint n, int times)
{
	uint32_t s = 1;

	while (times-- > 0)
		for (jint i = 0; i < n; i++)
			s = s * 31 + p[i];
	return s;
}

/* Keeps the collector from moving things while it counts. */
JNIEXPORT jint JNICALL Java_Storm_critical(JNIEnv *env, jclass c, jbyteArray bytes, jstring text)
{
	jint n = (*env)->GetArrayLength(env, bytes), len = (*env)->GetStringLength(env, text);
	unsigned char *p = (*env)->GetPrimitiveArrayCritical(env, bytes, NULL);
	uint32_t s = p ? sum(p, n, 20) : 0;
	const jchar *chars;

	if (p)
		(*env)->ReleasePrimitiveArrayCritical(env, bytes, p, 0);
	chars = (*env)->GetStringCritical(env, text, NULL);
	if (chars) {
		s += sum((const unsigned char *)chars, len * 2, 20);
		(*env)->ReleaseStringCritical(env, text, chars);
	}
	return (jint)s;
}

/* Java, native, Java, native … @depth levels; on the way back each has a frame of its own size. */
JNIEXPORT jint JNICALL Java_Storm_down(JNIEnv *env, jclass c, jint depth)
{
	volatile char room[64 + 256 * (depth % 5)];
	jint r;

	memset((void *)room, depth, sizeof(room));
	if (depth <= 0)
		return (jint)sum((const unsigned char *)room, sizeof(room), 50);
	r = (*env)->CallStaticIntMethod(env, storm, again, depth - 1);
	return (*env)->ExceptionCheck(env) ? 0 : r + room[1];
}

/* An exception of Java's that native code eats, one that it throws itself. */
JNIEXPORT void JNICALL Java_Storm_throwing(JNIEnv *env, jclass c)
{
	jclass type;

	(*env)->CallStaticVoidMethod(env, storm, thrower, 20);
	if (!(*env)->ExceptionCheck(env))
		abort();
	(*env)->ExceptionClear(env);
	type = (*env)->FindClass(env, "java/lang/IllegalStateException");
	if (type)
		(*env)->ThrowNew(env, type, "from native code");
}

/* References of every kind, a monitor, a direct buffer. */
JNIEXPORT void JNICALL Java_Storm_references(JNIEnv *env, jclass c, jobject o)
{
	static char bytes[4096];

	for (int i = 0; i < 50; i++) {
		jobject global = (*env)->NewGlobalRef(env, o);
		jweak weak = (*env)->NewWeakGlobalRef(env, global);
		jobject local = (*env)->NewLocalRef(env, weak);
		jobject buffer = (*env)->NewDirectByteBuffer(env, bytes, sizeof(bytes));

		if (local && (*env)->MonitorEnter(env, local) == JNI_OK)
			(*env)->MonitorExit(env, local);
		(*env)->DeleteLocalRef(env, buffer);
		(*env)->DeleteLocalRef(env, local);
		(*env)->DeleteWeakGlobalRef(env, weak);
		(*env)->DeleteGlobalRef(env, global);
		if ((*env)->ExceptionCheck(env))
			return;
	}
}

/* On stacks of its own: a thread of glibc's that attaches, or has another guard than the JVM's
 * threads, returns to glibc's cache a stack with which HotSpot itself dies at a later
 * StackOverflowError (JDK 11, within seconds, nobody recording). */
struct visitor {
	pthread_t id;
	int turn;
	char *map; /* guard and stack */
	size_t size, guard;
};

static void *visit(void *arg)
{
	struct visitor *v = arg;
	JavaVMAttachArgs attach = {JNI_VERSION_1_8, "visitor", NULL};
	unsigned char own[2048];
	JNIEnv *env;
	jint r;

	memset(own, v->turn, sizeof(own));
	if (v->turn % 4 == 3) /* one that the JVM never hears of */
		return (void *)(uintptr_t)sum(own, sizeof(own), 200);
	for (int times = v->turn % 3; times >= 0; times--) {
		r = v->turn % 2 ? (*vm)->AttachCurrentThreadAsDaemon(vm, (void **)&env, &attach)
				: (*vm)->AttachCurrentThread(vm, (void **)&env, &attach);
		if (r != JNI_OK)
			return NULL;
		(*env)->CallStaticVoidMethod(env, storm, guest, v->turn);
		if ((*env)->ExceptionCheck(env))
			(*env)->ExceptionClear(env);
		(*vm)->DetachCurrentThread(vm);
		sum(own, sizeof(own), 20);
	}
	return NULL;
}

static int map_stack(struct visitor *v, pthread_attr_t *attr)
{
	static const size_t sizes[] = {320 << 10, 512 << 10, 1 << 20, 2 << 20, 8 << 20};
	static const size_t guards[] = {0, 4096, 65536};

	v->guard = guards[(size_t)v->turn % LEN(guards)];
	v->size = v->guard + sizes[(size_t)v->turn % LEN(sizes)];
	v->map = mmap(NULL, v->size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	if (v->map == MAP_FAILED)
		return -1;
	mprotect(v->map, v->guard, PROT_NONE);
	return pthread_attr_setstack(attr, v->map + v->guard, v->size - v->guard);
}

static void start(struct visitor *v)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	if (map_stack(v, &attr) != 0 || pthread_create(&v->id, &attr, visit, v) != 0)
		v->id = 0;
	pthread_attr_destroy(&attr);
}

/* Threads that native code starts, which attach, call Java, and leave; some twice, some never. */
JNIEXPORT void JNICALL Java_Storm_visitors(JNIEnv *env, jclass c, jint turn)
{
	struct visitor all[8];

	for (size_t i = 0; i < LEN(all); i++) {
		all[i] = (struct visitor){.turn = turn + (int)i};
		start(&all[i]);
	}
	for (size_t i = 0; i < LEN(all); i++) {
		if (all[i].id)
			pthread_join(all[i].id, NULL);
		if (all[i].map != MAP_FAILED)
			munmap(all[i].map, all[i].size);
	}
}
