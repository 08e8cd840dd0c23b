/* gsan-random-text: what tests/gpu/run random executes, as text: a kernel's PTX, or the program of a seed. Needs no driver. */
#include "compile.h"
#include "construct.h"
#include "player.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: gsan-random-text --emit KERNEL | --print SEED RANKS SMALL BROKEN [DROP] | --ptx …the same\n"
	"KERNEL: play_weak, play_reds or play_sync. RANKS, SMALL, BROKEN and DROP: as gsan-random takes them.\n";

static int emit(const char *name)
{
	for (int k = 0; k < PLAYER_KERNELS; k++)
		if (!strcmp(name, player_name[k]))
			return player_emit(k, stdout), 0;
	return fputs(usage, stderr), 2;
}

static int print(char **words, void show(const struct native *p, FILE *to))
{
	struct construct_options how = {.ranks = atoi(words[1]), .small = atoi(words[2]), .broken = atoi(words[3])};
	struct native *p = malloc(sizeof(*p));

	if (!p || how.ranks < 1 || how.ranks > NATIVE_RANKS)
		return fputs(usage, stderr), 2;
	construct(strtoull(words[0], NULL, 10), &how, p);
	if (words[4] && native_drop(p, words[4]))
		return fputs("no such operation\n", stderr), 2;
	show(p, stdout);
	free(p);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--emit"))
		return emit(argv[2]);
	if ((argc == 6 || argc == 7) && !strcmp(argv[1], "--print"))
		return print(argv + 2, native_print);
	if ((argc == 6 || argc == 7) && !strcmp(argv[1], "--ptx"))
		return print(argv + 2, compile_emit);
	fputs(usage, stderr);
	return 2;
}
