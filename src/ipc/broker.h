/* ipc/broker: the handles of device memory that rank processes give each other through the supervisor. It knows
 * descriptors, ranges and owners, nothing of CUDA and nothing of sockets.
 *
 * Four kinds. A *put* handle (shadow, tables) is found by address range and lives until its owner leaves. An *exported*
 * handle stands behind a token: the read end of a pipe, which the program passes around as if it were the driver's own
 * descriptor. Wherever a copy of the token turns up, its inode says which handle is meant; the write end stays here and
 * reports an error once the last copy is closed, and only then is the real handle closed: the memory of a token that is
 * still on its way to somebody is never lost, whether or not its owner lives. Who has imported it is kept, so that the owner learns when
 * nobody has the memory. A *lent* handle is found by a number, until its
 * owner takes it back or leaves; who has opened it is kept, so that the owner learns when its addresses are free. A *named* one is the driver's
 * alone: bytes that the program has from it and passes around, with which the driver opens the memory anywhere. Here they say whose memory that is,
 * until the owner's addresses are used again or it leaves; who has imported it is kept as with tokens. */
#ifndef GSAN_IPC_BROKER_H
#define GSAN_IPC_BROKER_H

#include <stddef.h>
#include <stdint.h>

#include "device/layout.h"

struct broker;
struct broker_range { uint32_t space, participant, alloc; uint64_t base, size; };

int broker_new(struct broker **broker);
void broker_free(struct broker *b);

/* Each takes ownership of `fd`, closes it on failure too, and returns 0 or -errno. */
int broker_put(struct broker *b, const struct broker_range *range, int fd);
int broker_export(struct broker *b, const struct broker_range *range, int fd, int *token); /* the caller closes *token */
int broker_lend(struct broker *b, const struct broker_range *range, int fd, uint32_t *number);

/* GSAN_PARTICIPANTS stands for all processes that are no participant, of which nobody tells when they end. The descriptors stay the broker's. *cursor: 0 first, then as it was left. -ENOENT: no (further) one. */
int broker_get(struct broker *b, const struct broker_range *want, uint32_t *cursor, struct broker_range *found, int *fd);
int broker_import(struct broker *b, int token, uint32_t participant, struct broker_range *found, int *fd);
void broker_return(struct broker *b, uint64_t base, uint32_t participant); /* it has one import less of the memory that lies there */
int broker_vacant(struct broker *b, uint64_t base, uint64_t size); /* 0: there is no token, nor has anybody imported anything of it, and its names are gone; -EBUSY */

/* The driver's name of memory of range->participant: what had it before has it no more. 0 or -ENOMEM. */
#define BROKER_NAME 64u /* bytes */
int broker_name(struct broker *b, const struct broker_range *range, const void *name);
int broker_named(struct broker *b, const void *name, uint32_t participant, struct broker_range *found); /* is imported. -ENOENT: no name of ours */

/* *piece: the same for all numbers of the same memory. -ELOOP: it is the participant's own. */
int broker_open(struct broker *b, uint32_t number, uint32_t participant, struct broker_range *found, uint32_t *piece, int *fd);
void broker_close(struct broker *b, uint32_t number, uint32_t participant);
/* By its owner. 0: nobody has it, and it is gone; -EBUSY: nobody will open it, but somebody has it; -ENOENT. */
int broker_reclaim(struct broker *b, uint32_t number, uint32_t participant);

int broker_has_tokens(const struct broker *b, uint32_t participant); /* somebody may import what it exported yet */
void broker_leave(struct broker *b, uint32_t participant); /* drops what it put and lent, and names, not what it exported, and closes what it opened or imported */

/* Readable when a token's last copy was closed: call broker_sweep then. */
int broker_fd(const struct broker *b);
void broker_sweep(struct broker *b);
size_t broker_tokens(const struct broker *b);

#endif
