/* span: where a list of the root stands in a text of JSON, so that its elements can be parsed one at a time: as a tree, all of them take several
 * times their text. It looks no closer than that takes; whether the text is JSON its parser says. */
#ifndef GSAN_REPORT_SPAN_H
#define GSAN_REPORT_SPAN_H

struct span { const char *from, *to; }; /* from its bracket to behind the one that closes it, or to the text's end */

struct span span_find(const char *json, const char *key); /* NULL, NULL: no list of this name */

#endif
