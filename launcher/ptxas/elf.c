/* Cubins: 64-bit ELF (FACTS H has what NVIDIA's tools leave in its header). What the link has to know of them, and the PTX text that they
 * carry. Nothing here trusts a number that it reads. */
#include <elf.h>
#include <string.h>

#include "device/abi.h"
#include "linker.h"

static const Elf64_Ehdr *head_of(const struct ptxas_bytes *b)
{
	const Elf64_Ehdr *h = (const void *)b->data;
	int good = b->size >= sizeof(*h) && !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
		   h->e_shentsize == sizeof(Elf64_Shdr) && h->e_shoff <= b->size &&
		   h->e_shnum <= (b->size - h->e_shoff) / sizeof(Elf64_Shdr);
	return good ? h : NULL;
}

int elf_abi(const struct ptxas_bytes *b)
{
	const Elf64_Ehdr *h = head_of(b);
	return h ? h->e_ident[EI_ABIVERSION] : -1;
}

void elf_set_relocatable(struct ptxas_bytes *b)
{
	if (head_of(b))
		((Elf64_Ehdr *)(void *)b->data)->e_type = ET_REL;
}

static const Elf64_Shdr *section_of(const struct ptxas_bytes *b, uint32_t i)
{
	const Elf64_Ehdr *h = head_of(b);
	const Elf64_Shdr *s = (const void *)(b->data + h->e_shoff);
	return i < h->e_shnum && s[i].sh_offset <= b->size && s[i].sh_size <= b->size - s[i].sh_offset ? &s[i] : NULL;
}

/* Runs `ask` for each symbol, until it does not return 0. -1: there is no table of them. */
static int each_symbol(const struct ptxas_bytes *b, int (*ask)(const Elf64_Sym *s, const char *name, const void *context), const void *context)
{
	const Elf64_Ehdr *h = head_of(b);
	for (uint32_t i = 0; h && i < h->e_shnum; i++) {
		const Elf64_Shdr *table = section_of(b, i), *names = table && table->sh_type == SHT_SYMTAB ? section_of(b, table->sh_link) : NULL;
		if (!names || !names->sh_size || b->data[names->sh_offset + names->sh_size - 1])
			continue;
		const Elf64_Sym *s = (const void *)(b->data + table->sh_offset);
		for (uint64_t n = 0; n < table->sh_size / sizeof(*s); n++) {
			int answer = s[n].st_name < names->sh_size ? ask(&s[n], b->data + names->sh_offset + s[n].st_name, context) : 1;
			if (answer)
				return answer;
		}
		return 0;
	}
	return -1;
}

static int is_defined(const Elf64_Sym *s, const char *name, const void *wanted)
{
	return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF && s->st_size && !strcmp(name, wanted);
}

static int is_open(const Elf64_Sym *s, const char *name, const void *unused)
{
	(void)unused;
	return s->st_shndx == SHN_UNDEF && !strncmp(name, "gsan_", 5);
}

int elf_has(const struct ptxas_bytes *b, const char *function)
{
	return each_symbol(b, is_defined, function) == 1;
}

int elf_is_linked(const struct ptxas_bytes *b)
{
	const Elf64_Ehdr *h = head_of(b);
	return h && h->e_type == ET_EXEC && !each_symbol(b, is_open, NULL);
}

/* ---- the PTX text -------------------------------------------------------------------------------------------- */

/* With -lineinfo, ptxas leaves there what it has read, for tools that show it: lines that each end with a NUL. */
#define PTX_TEXT ".nv_debug_ptx_txt"

static Elf64_Shdr *section_named(const struct ptxas_bytes *b, const char *wanted)
{
	const Elf64_Ehdr *h = head_of(b);
	const Elf64_Shdr *names = h ? section_of(b, h->e_shstrndx) : NULL;
	size_t n = strlen(wanted) + 1;

	for (uint32_t i = 0; names && i < h->e_shnum; i++) {
		const Elf64_Shdr *s = section_of(b, i);
		if (s && names->sh_size >= n && s->sh_name <= names->sh_size - n && !memcmp(b->data + names->sh_offset + s->sh_name, wanted, n))
			return (Elf64_Shdr *)(void *)(b->data + h->e_shoff) + i;
	}
	return NULL;
}

/* Empties the lines of our functions: what begins with a name of ours, to the end of its body, or of its declaration. Returns what is left;
 * the lines keep their numbers. */
static size_t text_without_ours(char *text, size_t size)
{
	char *to = text;
	int ours = 0, depth = 0;

	for (size_t n, i = 0; i < size; i += n) {
		const char *line = text + i, *end = memchr(line, 0, size - i);
		int opened = 0, closed = 0;
		n = end ? (size_t)(end - line) + 1 : size - i;
		for (size_t k = 0; k < n; k++) {
			opened += line[k] == '{';
			closed += line[k] == '}';
		}
		ours |= !depth && (memmem(line, n, "gsan_", 5) || memmem(line, n, GSAN_CLONE_SUFFIX "(", sizeof(GSAN_CLONE_SUFFIX)));
		depth += opened - closed;
		size_t kept = ours ? end != NULL : n;
		memmove(to, ours ? end : line, kept);
		to += kept;
		ours &= depth > 0 || !(closed || memchr(line, ';', n));
	}
	return (size_t)(to - text);
}

/* May a section become shorter? Not if something that is loaded has bytes of it. */
static int may_shrink(const struct ptxas_bytes *b, const Elf64_Shdr *s)
{
	const Elf64_Ehdr *h = head_of(b);
	const Elf64_Phdr *p = (const void *)(b->data + h->e_phoff);
	uint64_t from = s->sh_offset, to = from + s->sh_size;

	if (s->sh_type != SHT_PROGBITS || h->e_phoff > b->size || h->e_phnum > (b->size - h->e_phoff) / sizeof(*p))
		return 0;
	for (uint32_t i = 0; i < h->e_phnum; i++)
		if (p[i].p_offset < to && (p[i].p_offset >= from ? p[i].p_filesz : p[i].p_filesz > from - p[i].p_offset))
			return 0;
	return 1;
}

static void move_back(uint64_t *offset, uint64_t at, uint64_t cut)
{
	if (*offset >= at)
		*offset -= cut;
}

#define ELF_ALIGNED 4096u /* of no section more: what lies behind stays aligned */
void elf_trim_text(struct ptxas_bytes *b)
{
	Elf64_Shdr *text = section_named(b, PTX_TEXT);
	Elf64_Ehdr *h = (void *)b->data;

	if (!text || !may_shrink(b, text))
		return;
	Elf64_Shdr *s = (void *)(b->data + h->e_shoff);
	Elf64_Phdr *p = (void *)(b->data + h->e_phoff);
	uint64_t size = text->sh_size, end = text->sh_offset + size, kept = text_without_ours(b->data + text->sh_offset, size);
	uint64_t cut = (size - kept) / ELF_ALIGNED * ELF_ALIGNED;
	memset(b->data + end - (size - kept), 0, size - kept);
	text->sh_size = kept;
	for (uint32_t i = 0; i < h->e_shnum; i++)
		move_back(&s[i].sh_offset, end, cut);
	for (uint32_t i = 0; i < h->e_phnum; i++)
		move_back(&p[i].p_offset, end, cut);
	move_back(&h->e_shoff, end, cut);
	move_back(&h->e_phoff, end, cut);
	memmove(b->data + end - cut, b->data + end, b->size - end);
	b->size -= cut;
}
