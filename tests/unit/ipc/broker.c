/* The broker alone: ranges and cursors, owners that leave, tokens that outlive them and die with their last copy. */
#include "ipc/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"

static struct broker *b;

static int memory(void)
{
	int fd = memfd_create("handle", MFD_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static int same_file(int x, int y)
{
	struct stat a, c;
	CHECK(!fstat(x, &a) && !fstat(y, &c));
	return a.st_ino == c.st_ino && a.st_dev == c.st_dev;
}

static int is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

static void test_put(void)
{
	const uint64_t page = 2 << 20;
	int fd[3], got;
	for (uint32_t i = 0; i < 3; i++) {
		struct broker_range r = {.space = i == 2, .participant = i, .base = i * page, .size = page};
		fd[i] = memory();
		CHECK(!broker_put(b, &r, fd[i]));
	}
	struct broker_range want = {.base = page / 2, .size = page}, found;
	uint32_t cursor = 0;
	CHECK(!broker_get(b, &want, &cursor, &found, &got) && got == fd[0] && found.base == 0 && found.size == page);
	CHECK(!broker_get(b, &want, &cursor, &found, &got) && got == fd[1] && found.participant == 1);
	CHECK(broker_get(b, &want, &cursor, &found, &got) == -ENOENT); /* the third is of another space */
	want.size = page / 2;                                         /* ends where the second begins */
	cursor = 0;
	CHECK(!broker_get(b, &want, &cursor, &found, &got) && got == fd[0]);
	CHECK(broker_get(b, &want, &cursor, &found, &got) == -ENOENT);

	broker_leave(b, 0);
	CHECK(!is_open(fd[0]) && is_open(fd[1]));
	cursor = 0;
	CHECK(broker_get(b, &want, &cursor, &found, &got) == -ENOENT);
	broker_leave(b, 2);
	broker_leave(b, 1);
	int last = memory();
	CHECK(!broker_put(b, &want, last));
	cursor = 0;
	CHECK(!broker_get(b, &want, &cursor, &found, &got) && got == last);
	broker_leave(b, 0);
	CHECK(broker_put(b, &want, -1) == -EBADF);
}

static void test_token(void)
{
	struct broker_range r = {.participant = 3, .alloc = 9, .base = 0x1000, .size = 0x2000}, found;
	int real = memory(), other = memory(), token, second, got, pipe_of_mine[2];
	CHECK(!broker_export(b, &r, real, &token) && !broker_export(b, &r, other, &second) && broker_tokens(b) == 2);
	int copy = dup(token);
	CHECK(!broker_import(b, copy, 1, &found, &got) && same_file(got, real));
	CHECK(found.participant == 3 && found.alloc == 9 && found.base == 0x1000 && found.size == 0x2000);
	CHECK(!pipe(pipe_of_mine));
	CHECK(broker_import(b, pipe_of_mine[0], 1, &found, &got) == -ENOENT && broker_import(b, real, 1, &found, &got) == -ENOENT);

	broker_leave(b, 3); /* the owner's end does not end the token */
	close(token);
	broker_sweep(b);
	CHECK(broker_tokens(b) == 2 && !broker_import(b, copy, 1, &found, &got));
	close(copy);
	struct pollfd wait = {.fd = broker_fd(b), .events = POLLIN};
	CHECK(poll(&wait, 1, 2000) == 1);
	broker_sweep(b);
	CHECK(broker_tokens(b) == 1 && !is_open(real) && is_open(other));
	CHECK(poll(&wait, 1, 0) == 0);
	close(second);
	close(pipe_of_mine[0]);
	close(pipe_of_mine[1]);
	broker_sweep(b);
	CHECK(broker_tokens(b) == 0 && !is_open(other));
	for (int i = 0; i < 2; i++) /* twice imported */
		broker_return(b, 0x1000, 1);
}

/* Addresses are free once there is no token, and nobody has what was imported, be it that he is gone. */
static void test_vacant(void)
{
	struct broker_range r = {.participant = 3, .base = 0x1000, .size = 0x2000}, found;
	int token, got;
	CHECK(!broker_vacant(b, 0x1000, 0x2000));
	CHECK(!broker_export(b, &r, memory(), &token) && broker_vacant(b, 0x1000, 0x2000) == -EBUSY);
	CHECK(!broker_vacant(b, 0x3000, 0x1000) && broker_vacant(b, 0x2000, 0x10) == -EBUSY);
	CHECK(!broker_import(b, token, 1, &found, &got) && !broker_import(b, token, 1, &found, &got) && !broker_import(b, token, 2, &found, &got));
	close(token);
	CHECK(broker_vacant(b, 0x1000, 0x2000) == -EBUSY && !broker_tokens(b));
	broker_return(b, 0x1000, 1);
	broker_return(b, 0x1000, 2);
	broker_return(b, 0x1000, 2); /* too often, and what nobody has */
	broker_return(b, 0x5000, 2);
	CHECK(broker_vacant(b, 0x1000, 0x2000) == -EBUSY);
	broker_return(b, 0x1000, 1);
	CHECK(!broker_vacant(b, 0x1000, 0x2000));
	CHECK(!broker_export(b, &r, memory(), &token) && !broker_import(b, token, 4, &found, &got));
	close(token);
	broker_leave(b, 3);
	CHECK(broker_vacant(b, 0x1000, 0x2000) == -EBUSY);
	broker_leave(b, 4);
	CHECK(!broker_vacant(b, 0x1000, 0x2000));
}

/* Names, each with the memory that had it last, until that is vacant or its owner leaves. */
static void test_name(void)
{
	struct broker_range r = {.participant = 3, .alloc = 9, .base = 0x1000, .size = 0x2000}, other = {.participant = 2, .base = 0x5000, .size = 0x1000}, found;
	char name[3][BROKER_NAME] = {"first", "second", "third"};
	int token, got;
	CHECK(broker_named(b, name[0], 1, &found) == -ENOENT);
	CHECK(!broker_name(b, &r, name[0]) && !broker_name(b, &r, name[1]) && !broker_name(b, &other, name[2]) && !broker_name(b, &r, name[0]));
	CHECK(!broker_named(b, name[0], 1, &found) && found.participant == 3 && found.alloc == 9 && found.base == 0x1000 && found.size == 0x2000);
	CHECK(!broker_named(b, name[1], 1, &found) && found.base == 0x1000);
	CHECK(!broker_named(b, name[2], 1, &found) && found.base == 0x5000);
	name[0][BROKER_NAME - 1] = 1;
	CHECK(broker_named(b, name[0], 1, &found) == -ENOENT);
	name[0][BROKER_NAME - 1] = 0;
	broker_return(b, 0x1000, 1);
	CHECK(broker_vacant(b, 0x1000, 0x2000) == -EBUSY && !broker_named(b, name[1], 1, &found));
	broker_return(b, 0x1000, 1);
	broker_return(b, 0x1000, 1);
	CHECK(!broker_export(b, &r, memory(), &token) && !broker_import(b, token, 1, &found, &got)); /* both ways */
	close(token);
	CHECK(broker_vacant(b, 0x1000, 0x2000) == -EBUSY);
	broker_return(b, 0x1000, 1);
	CHECK(!broker_vacant(b, 0x1000, 0x2000) && broker_named(b, name[0], 1, &found) == -ENOENT && broker_named(b, name[1], 1, &found) == -ENOENT);
	CHECK(!broker_named(b, name[2], 1, &found));

	CHECK(!broker_name(b, &r, name[2]) && !broker_named(b, name[2], 1, &found) && found.base == 0x1000); /* the driver gave it again */
	broker_leave(b, 2);
	CHECK(!broker_named(b, name[2], 1, &found));
	broker_leave(b, 3);
	CHECK(broker_named(b, name[2], 1, &found) == -ENOENT && broker_vacant(b, 0x1000, 0x2000) == -EBUSY);
	broker_leave(b, 1);
	CHECK(!broker_vacant(b, 0x1000, 0x2000) && !broker_name(b, &other, name[0])); /* which goes with the broker */
}

/* Two numbers of one piece, and one of another; who has opened one keeps it from being free, and who left does not. */
static void test_lend(void)
{
	struct broker_range r = {.participant = 1, .base = 0x1000, .size = 0x2000}, other = {.participant = 1, .base = 0x4000, .size = 0x1000}, found;
	uint32_t number[3], piece[3];
	int real[3] = {memory(), memory(), memory()}, got;
	CHECK(!broker_lend(b, &r, real[0], &number[0]) && !broker_lend(b, &r, real[1], &number[1]) && !broker_lend(b, &other, real[2], &number[2]));
	CHECK(number[0] && number[0] != number[1]);
	for (int i = 0; i < 3; i++)
		CHECK(!broker_open(b, number[i], 0, &found, &piece[i], &got) && got == real[i] && found.participant == 1);
	CHECK(found.base == 0x4000 && found.size == 0x1000 && piece[0] == piece[1] && piece[0] != piece[2]);
	CHECK(broker_open(b, number[0], 1, &found, &piece[0], &got) == -ELOOP);
	CHECK(broker_open(b, 0, 0, &found, &piece[0], &got) == -ENOENT && broker_open(b, number[2] + 1, 0, &found, &piece[0], &got) == -ENOENT);

	CHECK(broker_reclaim(b, number[0], 0) == -ENOENT); /* not its own */
	CHECK(broker_reclaim(b, number[0], 1) == -EBUSY && !is_open(real[0]) && is_open(real[1]));
	CHECK(broker_open(b, number[0], 2, &found, &piece[0], &got) == -ENOENT);
	broker_close(b, number[0], 2); /* had not opened it */
	CHECK(broker_reclaim(b, number[0], 1) == -EBUSY);
	broker_close(b, number[0], 0);
	CHECK(!broker_reclaim(b, number[0], 1) && broker_reclaim(b, number[0], 1) == -ENOENT);

	CHECK(!broker_open(b, number[1], 0, &found, &piece[0], &got)); /* twice by now */
	broker_close(b, number[1], 0);
	CHECK(broker_reclaim(b, number[1], 1) == -EBUSY);
	broker_leave(b, 0);
	CHECK(!broker_reclaim(b, number[1], 1) && is_open(real[2]));
	CHECK(!broker_open(b, number[2], GSAN_PARTICIPANTS, &found, &piece[2], &got)); /* a process that is no participant */
	CHECK(broker_open(b, number[2], GSAN_PARTICIPANTS + 1, &found, &piece[2], &got) == -ENOENT && broker_reclaim(b, number[2], 1) == -EBUSY);
	broker_close(b, number[2], GSAN_PARTICIPANTS);
	CHECK(!broker_reclaim(b, number[2], 1) && !is_open(real[2]));
	CHECK(!broker_lend(b, &other, real[2] = memory(), &number[2]));
	broker_leave(b, 1);
	CHECK(!is_open(real[2]) && broker_open(b, number[2], 0, &found, &piece[0], &got) == -ENOENT);
	CHECK(broker_lend(b, &r, -1, &number[0]) == -EBADF);
}

int main(void)
{
	CHECK(!broker_new(&b));
	test_put();
	test_token();
	test_vacant();
	test_name();
	test_lend();
	broker_free(b);
	return 0;
}
