/* The PTX instructions that programs for real GPUs consist of: every form is one instruction, or a batch of weak ones in
 * straight-line code, and its index is its code and, from 1, its line in reports. */
#ifndef GSAN_FORMS_H
#define GSAN_FORMS_H

#include "litmus/litmus.h"

#define FORMS_MAX 512
#define FORMS_BATCH 8

/* Loads and stores of a batch; access i is at `address + i × step`, stores `behind` further on if it has both. */
struct form_batch { uint8_t loads, stores, bytes, vector; };
struct form {
	struct lit_instr like;   /* location and values mean nothing; reg >= 0: the result of an atom is read */
	struct form_batch batch; /* loads + stores > 0: a batch, and `like` is nothing */
};

size_t forms_count(void);
const struct form *forms_get(size_t code);
/* The code of an instruction's form, -1: there is none. */
int forms_find(const struct lit_instr *i);
int forms_batch(struct form_batch batch);
int forms_is_batch(size_t code);
void forms_name(size_t code, char to[LIT_OPCODE]);

#endif
