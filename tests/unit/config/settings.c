/* Settings from the environment: in range, out of it, unset; and that the man page names each. argv[1]: the page. */
#include "config/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"

static const char *const names[] = {
#define SETTING(id, name, ...) name,
#include "config/settings.def"
#undef SETTING
};

int main(int argc, char **argv)
{
	static char page[1 << 16];
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;

	CHECK(f && fread(page, 1, sizeof page - 1, f) > 0);
	fclose(f);
	for (int i = 0; i < SETTINGS; i++)
		CHECK(strstr(page, names[i]));
	setenv(names[SETTING_SAMPLE_SEED], "4294967295", 1);
	CHECK(setting_number(SETTING_SAMPLE_SEED, 5) == 4294967295u);
	setenv(names[SETTING_SAMPLE_SEED], "7", 1);
	CHECK(setting_number(SETTING_SAMPLE_SEED, 5) == 4294967295u); /* read once */
	setenv(names[SETTING_TEST_FIRST_EPOCH], "512", 1);
	CHECK(setting_number(SETTING_TEST_FIRST_EPOCH, 1) == 1);
	unsetenv(names[SETTING_TEST_FIRST_LAUNCH]);
	CHECK(setting_number(SETTING_TEST_FIRST_LAUNCH, 3) == 3);
	return 0;
}
