/* A native program with a JVM in it, as database servers and Python have: embedder LIBJVM CLASSES
 * [OPTION…] [anything else, which is not looked at]. Runs Idle.main on its first thread, which the
 * java command never does. */
#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>

typedef jint create_fn(JavaVM **vm, void **env, void *args);

static JNIEnv *start(const char *libjvm, char **options, int n)
{
	void *lib = dlopen(libjvm, RTLD_NOW | RTLD_GLOBAL);
	create_fn *create = lib ? (create_fn *)dlsym(lib, "JNI_CreateJavaVM") : NULL;
	JavaVMOption words[16] = {0};
	JavaVMInitArgs args = {.version = JNI_VERSION_10, .options = words, .nOptions = n};
	JNIEnv *env = NULL;
	JavaVM *vm;

	for (int i = 0; i < n && i < 16; i++)
		words[i].optionString = options[i];
	if (!create || create(&vm, (void **)&env, &args) != JNI_OK)
		fprintf(stderr, "no JVM: %s\n", create ? "JNI_CreateJavaVM" : dlerror());
	return env;
}

int main(int argc, char **argv)
{
	char path[4096];
	JNIEnv *env;
	jclass idle;
	int n = 3;

	if (argc < 3)
		return 2;
	snprintf(path, sizeof(path), "-Djava.class.path=%s", argv[2]);
	argv[2] = path;
	while (n < argc && argv[n][0] == '-')
		n++;
	env = start(argv[1], argv + 2, n - 2);
	if (!env)
		return 1;
	idle = (*env)->FindClass(env, "Idle");
	(*env)->CallStaticVoidMethod(env, idle,
		(*env)->GetStaticMethodID(env, idle, "main", "([Ljava/lang/String;)V"), NULL);
	return 0;
}
