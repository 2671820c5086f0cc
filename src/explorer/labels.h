/* explorer/labels.h - names of addresses: those that every chain of this kind has, and those of the operator's file.
 *
 * The file has one address and its name a line, what begins with '#' and empty lines are skipped; a name of the file
 * takes the place of one that everybody knows. What contracts call themselves is not believed here. Threading:
 * frozen. */
#ifndef CD_EXPLORER_LABELS_H
#define CD_EXPLORER_LABELS_H

#include "base/bytes.h"

typedef struct cd_labels cd_labels;

enum { CD_LABEL_MAX = 64 }; /* bytes of a name */

/* cd_labels_new reads the text of a file; empty: what everybody knows. It is copied. Errors: CD_EFORMAT, with the
 * line. */
cd_err cd_labels_new(cd_labels **out, cd_bytes text, cd_errinfo *why) CD_CHECK;
void cd_labels_free(cd_labels *l); /* NULL is allowed */

/* cd_labels_of gives the name of an address, empty when it has none; borrowed. */
cd_bytes cd_labels_of(const cd_labels *l, const cd_addr20 *addr);

/* cd_labels_find gives up to max addresses of a name, upper and lower case alike, and how many they are. */
usize cd_labels_find(const cd_labels *l, cd_addr20 *out, usize max, cd_bytes name);

#endif
