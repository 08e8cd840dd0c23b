/* Fat binaries as they are and as they should not be. Each image lies at the end of a page behind which nothing may be read. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "fatbin/fatbin.h"
#include "write.h"
#include "../check.h"

static int hidden; /* no library is installed */

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) { return hidden ? NULL : __real_dlopen(name, flags); }

static const char text[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	"// words words words words words words words words words words words words words words words words words\n"
	".visible .entry step(.param .u64 p) { ret; }\n";

/* The bytes once more, with a page behind them that may not be touched. */
static unsigned char *guarded(const void *data, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
	unsigned char *at = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED && !mprotect(at + room, page, PROT_NONE));
	memcpy(at + room - size, data, size);
	return at + room - size;
}

static void unguard(unsigned char *at, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;

	munmap(at + size - room, room + page);
}

/* Reads all of it. 1: it is whole; 0: it is not. */
static int read_all(const void *data, size_t size)
{
	struct fatbin f;
	struct fatbin_entry e;
	size_t at = 0, unpacked;
	char *got;
	int more, whole = 1;

	if (fatbin_open(data, size, &f))
		return 0;
	while ((more = fatbin_next(&f, &at, &e)) > 0) {
		if (fatbin_unpack(&e, &got, &unpacked))
			whole = 0;
		else
			free(got);
	}
	fatbin_ptx(&f, 90, &e);
	return whole && !more;
}

static int read_guarded(const void *data, size_t size)
{
	unsigned char *at = guarded(data, size);
	int whole = read_all(at, size);

	unguard(at, size);
	return whole;
}

/* The PTX for a GPU; NULL: there is none, for *reason. */
static char *ptx_for(const struct write *w, unsigned gpu, const char **reason)
{
	struct fatbin f;
	struct fatbin_entry e;
	size_t size;
	char *got;

	CHECK(!fatbin_open(w->data, w->size, &f));
	*reason = fatbin_ptx(&f, gpu, &e);
	if (!*reason)
		*reason = fatbin_unpack(&e, &got, &size);
	return *reason ? NULL : got;
}

static void reads(enum write_packing packing)
{
	struct write w;
	const char *reason;

	write_begin(&w);
	write_entry(&w, WRITE_CUBIN, 90, 0, packing, "\177ELF", 4);
	write_entry(&w, WRITE_PTX, 90, 0, packing, text, sizeof(text));
	CHECK(read_guarded(w.data, w.size));
	char *got = ptx_for(&w, 90, &reason);
	CHECK(got && !strcmp(got, text));
	free(got);
	for (size_t size = 1; size < w.size; size++)
		CHECK(!read_guarded(w.data, size));
	free(w.data);
}

/* What the driver takes, and the PTX that belongs to it. `took`: the PTX's architecture and feature; or a part of the reason. */
static void chooses(void)
{
	static const struct { unsigned gpu; const char *held, *took; } cases[] = {
		{90, "p80 p90 p100", "90"}, {90, "p80", "80"}, {90, "p80 p90 p90a", "90a"}, {90, "p100", "runs on this GPU"},
		{90, "c90", "no PTX"}, {90, "", "no PTX"}, {90, "c90 p90", "90"}, {90, "p90 c90", "90"}, {90, "c90a p90 p90a", "90a"},
		{90, "c90a p90", "of the architecture"}, {90, "c90 p80", "of the architecture"}, {90, "c80 p80", "80"}, {89, "c86 p86 p89", "86"},
		{100, "p90a p80", "80"}, {103, "p100f p100", "100f"}, {103, "p100a p100", "100"}, {120, "p100f p90", "90"}, {103, "c100f p100f", "100f"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct write w;
		const char *reason;
		write_begin(&w);
		for (const char *at = cases[i].held; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
			char *end, held[16];
			unsigned arch = (unsigned)strtoul(at + 1, &end, 10);
			int n = snprintf(held, sizeof(held), "%.*s", (int)strcspn(at + 1, " "), at + 1) + 1;
			write_entry(&w, *at == 'p' ? WRITE_PTX : WRITE_CUBIN, arch, *end == 'a' ? 0x100000 : *end == 'f' ? 0x200000 : 0, WRITE_NONE, held,
				    (size_t)n);
		}
		char *got = ptx_for(&w, cases[i].gpu, &reason);
		if (got ? strcmp(got, cases[i].took) != 0 : !strstr(reason, cases[i].took)) {
			fprintf(stderr, "sm_%u of %s: %s, not %s\n", cases[i].gpu, cases[i].held, got ? got : reason, cases[i].took);
			exit(1);
		}
		free(got);
		free(w.data);
	}
}

static void hundred(void)
{
	struct write w;
	const char *reason;

	write_begin(&w);
	for (unsigned i = 0; i < 100; i++) {
		char own[16];
		int n = snprintf(own, sizeof(own), "arch %u", i + 1) + 1;
		write_entry(&w, WRITE_PTX, i + 1, 0, (enum write_packing)(i % 3), own, (size_t)n);
	}
	CHECK(read_guarded(w.data, w.size));
	char *got = ptx_for(&w, 90, &reason);
	CHECK(got && !strcmp(got, "arch 90"));
	free(got);
	free(w.data);
}

/* One number is another: nothing is read outside, and nothing comes out. at: in the image, or in its entry. */
static void lies(enum write_packing packing)
{
	static const struct { int of_entry; size_t at, bytes; uint64_t value; } lie[] = {
		{0, 0, 4, 0x464c457f}, {0, 4, 2, 2}, {0, 6, 2, 0}, {0, 6, 2, 15}, {0, 8, 8, UINT64_MAX}, {0, 8, 8, UINT64_MAX - 15}, {0, 8, 8, 1u << 20},
		{0, 8, 8, INT64_MAX}, {1, 4, 4, 0}, {1, 4, 4, 63}, {1, 4, 4, UINT32_MAX}, {1, 8, 8, UINT64_MAX}, {1, 8, 8, UINT64_MAX - 79},
		{1, 8, 8, 1u << 30},
	};
	static const struct { size_t at, bytes; uint64_t value; } packed[] = {
		{16, 4, UINT32_MAX}, {16, 4, 1}, {56, 8, 0}, {56, 8, 1}, {56, 8, sizeof(text) - 1}, {56, 8, sizeof(text) + 1}, {56, 8, UINT64_MAX},
		{56, 8, 1u << 30}, {56, 8, (uint64_t)1 << 32 | sizeof(text)}, {41, 1, 0}, /* compressed, but it is not said how */
	};
	struct write w;

	write_begin(&w);
	size_t entry = write_entry(&w, WRITE_PTX, 90, 0, packing, text, sizeof(text));
	unsigned char *was = malloc(w.size);
	memcpy(was, w.data, w.size);
	for (size_t i = 0; i < sizeof(lie) / sizeof(*lie); i++) {
		write_number(w.data + (lie[i].of_entry ? entry : 0) + lie[i].at, lie[i].value, lie[i].bytes);
		CHECK(!read_guarded(w.data, w.size));
		memcpy(w.data, was, w.size);
	}
	for (size_t i = 0; packing && i < sizeof(packed) / sizeof(*packed); i++) {
		write_number(w.data + entry + packed[i].at, packed[i].value, packed[i].bytes);
		CHECK(!read_guarded(w.data, w.size));
		memcpy(w.data, was, w.size);
	}
	write_number(w.data + entry + 32, UINT32_MAX - 3, 4); /* a name somewhere else is none */
	CHECK(read_guarded(w.data, w.size));
	free(was);
	free(w.data);
}

/* Bytes are others, from a fixed seed: whatever comes out, nothing is read outside. */
static void mutated(enum write_packing packing)
{
	uint64_t state = 0x9e3779b97f4a7c15ull;
	struct write w;

	write_begin(&w);
	write_entry(&w, WRITE_CUBIN, 90, 0, packing, text, sizeof(text));
	write_entry(&w, WRITE_PTX, 90, 0, packing, text, sizeof(text));
	for (int i = 0; i < 3000; i++) {
		unsigned char *at = guarded(w.data, w.size);
		for (int k = 0; k < 1 + i % 4; k++) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			at[(state >> 33) % w.size] = (unsigned char)(state >> 24);
		}
		read_all(at, w.size);
		unguard(at, w.size);
	}
	free(w.data);
}

/* In memory the image says how long it is, and a wrapper where it lies. */
static void wrapped(void)
{
	struct { uint32_t magic, version; const void *data; const void *const *parts; } wrapper = {0x466243b1, 1, NULL, NULL};
	struct fatbin_texts t;
	struct fatbin f;
	struct fatbin_entry e;
	struct write w, none;

	write_begin(&w);
	write_entry(&w, WRITE_PTX, 90, 0, WRITE_NONE, text, sizeof(text));
	wrapper.data = w.data;
	CHECK(!fatbin_open(w.data, 0, &f) && f.size == w.size);
	CHECK(!fatbin_open(&wrapper, 0, &f) && f.data == w.data && f.size == w.size);
	CHECK(!f.parts && !fatbin_ptx(&f, 90, &e));
	write_begin(&none);
	wrapper.version = 2; /* of -rdc=true: nvlink had nothing to link */
	wrapper.data = none.data;
	const void *parts[] = {w.data, w.data, NULL};
	wrapper.parts = parts;
	CHECK(!fatbin_open(&wrapper, 0, &f) && f.size == 16 && fatbin_ptx(&f, 90, &e) && f.parts == parts);
	CHECK(!fatbin_texts(&f, 90, &t) && t.count == 2 && !strcmp(t.text[0], text) && !strcmp(t.text[1], text));
	fatbin_texts_free(&t);
	CHECK(!strcmp(fatbin_texts(&f, 80, &t), FATBIN_LACKING) && !t.text); /* it is of sm_90 */
	parts[0] = none.data;
	CHECK(!fatbin_texts(&f, 90, &t) && t.count == 1 && t.lacking == 1 && !strcmp(t.text[0], text));
	fatbin_texts_free(&t);
	parts[1] = "P";
	CHECK(strstr(fatbin_texts(&f, 90, &t), "(-rdc=true) is damaged") && !t.text);
	free(none.data);
	CHECK(fatbin_open(&wrapper, sizeof(wrapper), &f) == -ENOENT); /* a file's: it would point into this process */
	wrapper.data = NULL;
	CHECK(fatbin_open(&wrapper, 0, &f) == -ENOENT);
	CHECK(fatbin_open("P", 0, &f) == -ENOENT && fatbin_open("\177ELF", 0, &f) == -ENOENT && fatbin_open(text, 0, &f) == -ENOENT);
	write_number(w.data + 8, UINT64_MAX - 20, 8);
	CHECK(fatbin_open(w.data, 0, &f) == -EINVAL);
	free(w.data);
}

/* Before the libraries are found for the first time. */
static void missing(void)
{
	static const char *const said[] = {NULL, "liblz4.so.1 is not installed", "libzstd.so.1 is not installed"};

	hidden = 1;
	for (int packing = 0; packing < 3; packing++) {
		struct write w;
		const char *reason;
		write_begin(&w);
		write_entry(&w, WRITE_PTX, 90, 0, (enum write_packing)packing, text, sizeof(text));
		char *got = ptx_for(&w, 90, &reason);
		CHECK(packing ? !got && strstr(reason, said[packing]) : got && !strcmp(got, text));
		free(got);
		free(w.data);
	}
	hidden = 0;
}

int main(void)
{
	missing();
	for (int packing = 0; packing < 3; packing++) {
		reads((enum write_packing)packing);
		lies((enum write_packing)packing);
		mutated((enum write_packing)packing);
	}
	chooses();
	hundred();
	wrapped();
	return 0;
}
