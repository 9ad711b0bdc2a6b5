/* What a process shares among all who live in it, as text: called by the target HostState. */
#include <jni.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static int arenas(void)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int n = 0;

	malloc_info(0, f);
	fclose(f);
	for (const char *p = text; (p = strstr(p, "<heap nr=")); p++)
		n++;
	free(text);
	return n;
}

/* Keys are given out from the first free one: each that is kept moves what we get. */
static unsigned first_free_keys(void)
{
	pthread_key_t keys[3];
	unsigned sum = 0;

	for (int i = 0; i < 3; i++)
		pthread_key_create(&keys[i], NULL);
	for (int i = 0; i < 3; i++) {
		sum = sum * 1000 + keys[i];
		pthread_key_delete(keys[i]);
	}
	return sum;
}

static int dispositions(char *at, size_t size)
{
	struct sigaction old;
	int n = 0;

	for (int s = 1; s < 65; s++)
		if (sigaction(s, NULL, &old) == 0)
			n += snprintf(at + n, size - (size_t)n, " %d:%p:%x", s,
				(void *)old.sa_sigaction, (unsigned)old.sa_flags);
	return n;
}

JNIEXPORT jstring JNICALL Java_HostState_state(JNIEnv *env, jclass c)
{
	char text[8192], signals[6000];
	struct itimerval timers[3];
	stack_t alt;

	sigaltstack(NULL, &alt);
	for (int i = 0; i < 3; i++)
		getitimer(i, &timers[i]);
	dispositions(signals, sizeof(signals));
	snprintf(text, sizeof(text),
		"arenas %d;keys %u;locale %s %p;altstack %p %zu %d;itimers %ld %ld %ld;signals%s",
		arenas(), first_free_keys(), setlocale(LC_ALL, NULL), (void *)uselocale(0),
		alt.ss_sp, alt.ss_size, alt.ss_flags, timers[0].it_interval.tv_usec,
		timers[1].it_interval.tv_usec, timers[2].it_interval.tv_usec, signals);
	return (*env)->NewStringUTF(env, text);
}
