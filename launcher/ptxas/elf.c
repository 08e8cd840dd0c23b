/* What the link has to know of cubins: 64-bit ELF (FACTS H has what NVIDIA's tools leave in its header). Nothing here trusts a
 * number that it reads. */
#include <elf.h>
#include <string.h>

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
