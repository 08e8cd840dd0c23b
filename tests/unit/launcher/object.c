/* object_function: of this program itself, and of what damage makes of it. */
#include "supervisor/object.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "base/text.h"

static char path[] = "/tmp/gsan-object-XXXXXX";

__attribute__((noinline, noipa)) static int held(int x) { return x + 1; }
extern void _init(void); /* of no size */

static uint64_t address(const void *of)
{
	Dl_info info;
	void *map;
	CHECK(dladdr1(of, &info, &map, RTLD_DL_LINKMAP));
	return (uintptr_t)of - ((const struct link_map *)map)->l_addr;
}

static int is(uint64_t at, const char *name)
{
	char *known = object_function(path, at);
	const int same = known && name ? !strcmp(known, name) : known == name;
	free(known);
	return same;
}

static void write_at(int fd, const void *data, size_t size, off_t at) { CHECK(pwrite(fd, data, size, at) == (ssize_t)size); }

/* An address within its size, and no other: neither behind it, nor of data, nor of what has no size. */
static void test_within(uint64_t at)
{
	static int data;
	CHECK(is(at, "held") && is(at + 1, "held") && !is(at - 1, "held") && !is(at + 4096, "held"));
	CHECK(is(address(&data), NULL) && is(address((const void *)(uintptr_t)_init), NULL) && is(0, NULL) && is(UINT64_MAX, NULL));
}

/* Cut off anywhere, it knows nothing, or what is so. */
static void test_cut(int fd, const char *whole, size_t size, uint64_t at)
{
	for (size_t left = 0; left < size; left += left < 128 ? 1 : size / 97) {
		CHECK(!ftruncate(fd, (off_t)left) && (is(at, NULL) || is(at, "held")));
	}
	write_at(fd, whole, size, 0);
}

/* Each field of the header, and of the headers of its sections, with what no file has. */
static void test_damaged(int fd, const char *whole, size_t size, uint64_t at)
{
	static const uint64_t wrong[] = {0, 1, UINT32_MAX, UINT64_MAX, UINT64_MAX - 23, INT64_MAX};
	const Elf64_Ehdr *head = (const void *)whole;
	const size_t sections = head->e_shnum * sizeof(Elf64_Shdr);
	for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
		for (size_t i = 0; i + 8 <= sizeof *head; i += 2) {
			write_at(fd, &wrong[w], sizeof wrong[w], (off_t)i);
			free(object_function(path, at));
			write_at(fd, whole, sizeof *head, 0);
		}
		for (size_t i = 0; i + 8 <= sections; i += 8) {
			write_at(fd, &wrong[w], sizeof wrong[w], (off_t)(head->e_shoff + i));
			free(object_function(path, at));
			write_at(fd, whole + head->e_shoff, sections, (off_t)head->e_shoff);
		}
	}
	CHECK(size > sizeof *head && is(at, "held"));
}

int main(void)
{
	const uint64_t at = address((const void *)(uintptr_t)held);
	const int fd = mkstemp(path);
	char *whole;
	size_t size;
	CHECK(fd >= 0 && held(1) == 2 && !text_read_file("/proc/self/exe", &whole, &size));
	write_at(fd, whole, size, 0);
	test_within(at);
	test_cut(fd, whole, size, at);
	test_damaged(fd, whole, size, at);
	CHECK(!unlink(path) && is(at, NULL));
	CHECK(!object_function("/dev/zero", at) && !object_function("/tmp", at));
	close(fd);
	free(whole);
	return 0;
}
