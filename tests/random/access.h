/* Single accesses of random programs: data, flags and noise. */
#ifndef GSAN_RANDOM_ACCESS_H
#define GSAN_RANDOM_ACCESS_H

#include "build.h"

/* A weak access of some form that fits `bytes` bytes at `offset` of the location: scalar, vector, sub-word, generic, or
 * one that the threads of a warp share out. */
struct lit_instr access_data(struct build *b, struct build_actor *a, int location, int32_t offset, uint32_t bytes, enum lit_op op);
/* A read-modify-write of `bytes` bytes. `result`: into a fresh register, else into nothing. */
struct lit_instr access_rmw(struct build *b, struct build_actor *a, int location, enum lit_rmw rmw, int result);
/* Any operation at any place of the location. */
struct lit_instr access_any(struct build *b, struct build_actor *a, int location);
struct lit_instr access_fence(struct build *b, enum lit_sem sem, enum lit_scope scope);
/* A scope by which the two reach each other, or one too narrow if this element breaks. */
enum lit_scope access_scope(struct build *b, const struct build_actor *one, const struct build_actor *other);
/* A few instructions that harm nobody, unless the program is a dirty one. */
void access_noise(struct build *b, struct build_actor *a);

#endif
