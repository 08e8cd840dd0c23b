/* Files are any that a process of the job has mapped: only regular ones are looked into, by pread, and no number in them is trusted. */
#include "supervisor/object.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OBJECT_NAME 4096u   /* bytes of a symbol; longer ones are not known */
#define OBJECT_SYMBOLS 512u /* that are read at once */

struct object { int fd; uint64_t size; Elf64_Ehdr head; };

static int object_read(const struct object *o, uint64_t at, uint64_t size, void *to)
{
	if (at > o->size || size > o->size - at)
		return -EINVAL;
	return pread(o->fd, to, size, (off_t)at) == (ssize_t)size ? 0 : -EIO;
}

static int object_open(struct object *o, const char *file)
{
	struct stat what;
	o->fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (o->fd < 0)
		return -errno;
	if (fstat(o->fd, &what) || !S_ISREG(what.st_mode))
		return -EINVAL;
	o->size = (uint64_t)what.st_size;
	const int rc = object_read(o, 0, sizeof o->head, &o->head);
	const unsigned char *ident = o->head.e_ident;
	const int good = !rc && !memcmp(ident, ELFMAG, SELFMAG) && ident[EI_CLASS] == ELFCLASS64 && o->head.e_shentsize == sizeof(Elf64_Shdr);
	return good ? 0 : -EINVAL;
}

static int object_section(const struct object *o, uint32_t i, Elf64_Shdr *section)
{
	if (i >= o->head.e_shnum || o->head.e_shoff > o->size)
		return -EINVAL;
	return object_read(o, o->head.e_shoff + (uint64_t)i * sizeof *section, sizeof *section, section);
}

static char *object_name(const struct object *o, const Elf64_Shdr *names, uint32_t at)
{
	if (at >= names->sh_size || names->sh_offset > o->size)
		return NULL;
	const uint64_t left = names->sh_size - at;
	const size_t size = left < OBJECT_NAME ? (size_t)left : OBJECT_NAME;
	char *name = malloc(size);
	const int good = name && !object_read(o, names->sh_offset + at, size, name) && memchr(name, 0, size) && *name;
	if (good)
		return name;
	free(name);
	return NULL;
}

static int object_holds(const Elf64_Sym *s, uint64_t address)
{
	return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF && address >= s->st_value && address - s->st_value < s->st_size;
}

/* Of one table, the first function that holds it. */
static char *object_find(const struct object *o, const Elf64_Shdr *table, uint64_t address)
{
	Elf64_Sym symbol[OBJECT_SYMBOLS];
	Elf64_Shdr names;
	const uint64_t all = table->sh_size / sizeof *symbol;
	if (table->sh_offset > o->size || table->sh_size > o->size || object_section(o, table->sh_link, &names))
		return NULL;
	for (uint64_t i = 0, n; i < all; i += n) {
		n = all - i < OBJECT_SYMBOLS ? all - i : OBJECT_SYMBOLS;
		if (object_read(o, table->sh_offset + i * sizeof *symbol, n * sizeof *symbol, symbol))
			return NULL;
		for (uint64_t k = 0; k < n; k++)
			if (object_holds(&symbol[k], address))
				return object_name(o, &names, symbol[k].st_name);
	}
	return NULL;
}

/* That of the exported ones, which is left when the other one is stripped, comes second. */
char *object_function(const char *file, uint64_t address)
{
	static const uint32_t type[] = {SHT_SYMTAB, SHT_DYNSYM};
	struct object o;
	Elf64_Shdr table;
	char *name = NULL;
	int rc = object_open(&o, file);
	for (size_t k = 0; k < sizeof type / sizeof *type; k++)
		for (uint32_t i = 0; !rc && !name && i < o.head.e_shnum; i++)
			if (!object_section(&o, i, &table) && table.sh_type == type[k])
				name = object_find(&o, &table, address);
	if (o.fd >= 0)
		close(o.fd);
	return name;
}
