/* base: what every folder may use. This file: messages on stderr, one line each, `gsan: [rank 1: ][pid 42: ]text`. They
 * are lower case, state the fact and what to do, and leave errno alone. What commands a terminal in names that they hold is escaped
 * (utf8.h). GSAN_LOG=error|warning|info|debug sets the level (default warning). */
#ifndef GSAN_BASE_LOG_H
#define GSAN_BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

void log_set_program(const char *name); /* a string literal: "gsan-launch"; default "gsan" */
void log_set_rank(int rank);            /* -1 = unknown, not printed */
void log_set_alone(int alone);           /* 1: there is no other process whose messages could be meant: the pid is not printed */
int log_enabled(enum log_level level);
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
/* Says it once per place and process. */
#define log_once(level, ...) \
	do { \
		static int log_said_; \
		if (!__atomic_exchange_n(&log_said_, 1, __ATOMIC_RELAXED)) \
			log_write(level, __VA_ARGS__); \
	} while (0)

#endif
