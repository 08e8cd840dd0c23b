/* Which kernels the user wants checked: those that a pattern of --include names, or all; and of these none that one of --exclude names. */
#ifndef GSAN_DRIVER_CHOSEN_H
#define GSAN_DRIVER_CHOSEN_H

/* Why the kernel is left out, a string literal; NULL: it is not. */
const char *chosen_out(const char *kernel);
/* Whether a pattern of the list names the kernel, as the driver does or, if it is of C++, as its source or a report does. Commas part patterns. */
int chosen_match(const char *patterns, const char *kernel);

#endif
