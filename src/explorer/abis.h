/* explorer/abis.h - functions, events and errors that compilers told of (ABIs), beside those that everybody uses.
 *
 *   [{"type":"error","name":"Nope",…}] ──► selector, topic ──► names and arguments on pages
 *
 * Of two with one selector the first stays. Bounded: CD_ABIS_MAX of each kind; what is more, or is none, is
 * not taken in. Threading: frozen once an explorer has it. */
#ifndef CD_EXPLORER_ABIS_H
#define CD_EXPLORER_ABIS_H

#include "base/bytes.h"

typedef struct cd_abis cd_abis;

enum { CD_ABIS_MAX = 16384 };

/* cd_abis_new knows nothing yet; cd_abis_free forgets it (NULL is allowed). */
cd_abis *cd_abis_new(void);
void cd_abis_free(cd_abis *x);

/* cd_abis_add takes in a document: an ABI, or an object that has it under "abi". It is copied. Errors: those of
 * codec/json when it is none; entries that are not understood are left out. */
cd_err cd_abis_add(cd_abis *x, cd_bytes text, cd_errinfo *why) CD_CHECK;

#endif
