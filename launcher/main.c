/* sparkprof: the command. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "version") == 0) {
		puts("sparkprof " SP_VERSION);
		return 0;
	}
	fputs("sparkprof: not built yet\n", stderr);
	return 2;
}
