#include "ptx/ptx.h"

#include <string.h>

static const struct { const char *name; uint8_t bits; } types[] = {
	[PTX_NOTYPE] = {"", 0}, [PTX_PRED] = {"pred", 1}, [PTX_B8] = {"b8", 8}, [PTX_B16] = {"b16", 16},
	[PTX_B32] = {"b32", 32}, [PTX_B64] = {"b64", 64}, [PTX_B128] = {"b128", 128}, [PTX_U8] = {"u8", 8},
	[PTX_U16] = {"u16", 16}, [PTX_U32] = {"u32", 32}, [PTX_U64] = {"u64", 64}, [PTX_S8] = {"s8", 8},
	[PTX_S16] = {"s16", 16}, [PTX_S32] = {"s32", 32}, [PTX_S64] = {"s64", 64}, [PTX_F16] = {"f16", 16},
	[PTX_F16X2] = {"f16x2", 32}, [PTX_BF16] = {"bf16", 16}, [PTX_BF16X2] = {"bf16x2", 32},
	[PTX_F32] = {"f32", 32}, [PTX_F64] = {"f64", 64}, [PTX_OTHER] = {"", 0},
};

unsigned ptx_type_bits(enum ptx_type type)
{
	return types[type].bits;
}

int ptx_is(const struct ptx_module *m, struct ptx_span s, const char *word)
{
	return strlen(word) == s.len && !memcmp(m->text + s.off, word, s.len);
}

int ptx_is_provided(const char *text, struct ptx_span name)
{
	static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == name.len && !memcmp(text + name.off, names[i], name.len))
			return 1;
	return 0;
}

int ptx_has(const struct ptx_module *m, const struct ptx_instr *i, const char *word)
{
	for (uint32_t k = 0; k < i->mods; k++)
		if (ptx_is(m, i->mod[k], word))
			return 1;
	return 0;
}

enum ptx_type ptx_type_of(const struct ptx_module *m, struct ptx_span s)
{
	for (enum ptx_type t = PTX_PRED; t < PTX_OTHER; t++)
		if (ptx_is(m, s, types[t].name))
			return t;
	return PTX_NOTYPE;
}

enum ptx_type ptx_instr_type(const struct ptx_module *m, const struct ptx_instr *i)
{
	for (uint32_t k = i->mods; k-- > 0;) {
		enum ptx_type t = ptx_type_of(m, i->mod[k]);

		if (t != PTX_NOTYPE)
			return t;
	}
	return PTX_NOTYPE;
}

const struct ptx_file *ptx_file_of(const struct ptx_module *m, uint32_t index)
{
	for (uint32_t k = 0; k < m->files; k++)
		if (m->file[k].index == index)
			return &m->file[k];
	return NULL;
}
