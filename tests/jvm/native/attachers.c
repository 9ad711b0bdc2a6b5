/* The native half of the target Attachers: threads of native code that attach themselves to the
 * JVM and stay there until they are let go. */
#include <jni.h>

#include <pthread.h>

#define THREADS 64

static JavaVM *vm;
static pthread_t threads[THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int here, wanted;

static void *visit(void *arg)
{
	JNIEnv *env;

	if ((*vm)->AttachCurrentThreadAsDaemon(vm, (void **)&env, NULL) != JNI_OK)
		return NULL;
	pthread_mutex_lock(&lock);
	here++;
	pthread_cond_broadcast(&cond);
	while (wanted)
		pthread_cond_wait(&cond, &lock);
	here--;
	pthread_mutex_unlock(&lock);
	(*vm)->DetachCurrentThread(vm);
	return arg;
}

/* Returns when all are attached. */
JNIEXPORT void JNICALL Java_Attachers_come(JNIEnv *env, jclass c)
{
	(*env)->GetJavaVM(env, &vm);
	wanted = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, visit, NULL);
	pthread_mutex_lock(&lock);
	while (here < THREADS)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
}

/* Returns when all have ended. */
JNIEXPORT void JNICALL Java_Attachers_go(JNIEnv *env, jclass c)
{
	pthread_mutex_lock(&lock);
	wanted = 0;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
