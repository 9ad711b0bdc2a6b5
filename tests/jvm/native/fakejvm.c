/* What a JVM looks like from outside, where the real one cannot be had: maps a library called
 * libjvm.so (and others given by name), catches SIGQUIT as HotSpot does, says "ready", and says so
 * if anybody sends it the signal. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void on_quit(int sig)
{
	static const char text[] = "SIGQUIT\n";

	(void)sig;
	(void)!write(1, text, sizeof(text) - 1);
}

int main(int argc, char **argv)
{
	char byte;
	int i;

	signal(SIGQUIT, on_quit);
	for (i = 1; i < argc && argv[i][0] == '/'; i++)
		if (!dlopen(argv[i], RTLD_NOW)) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
	(void)!write(1, "ready\n", 6);
	while (read(0, &byte, 1) != 0)
		continue;
	return 0;
}
