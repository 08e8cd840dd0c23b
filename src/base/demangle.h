/* Names as C++ mangles them (Itanium C++ ABI), by libstdc++.so.6, if that is here. */
#ifndef GSAN_BASE_DEMANGLE_H
#define GSAN_BASE_DEMANGLE_H

/* malloc'ed, or NULL: it is not mangled, or libstdc++ is not here (said once). */
char *demangle(const char *name);

/* As people call it, malloc'ed or NULL: without result, parameters and ABI tags; and what stands in <> is left out if it is long. */
char *demangle_shortly(const char *name);

#endif
