/* base/mem/secret.h - memory for keys and passwords.
 *
 * A cd_secret lies in pages of its own: not swapped out and not in core dumps where the system allows it, and zeroed
 * before they are given back. Neither the log nor the JSON writer takes one. Threading: confined. [spec:style#B5] */
#ifndef CD_BASE_SECRET_H
#define CD_BASE_SECRET_H

#include "base/bytes.h"

/* Memory that is not swapped out and is zeroed when it is freed. */
typedef struct cd_secret {
    u8 *p;
    usize n;
} cd_secret;

/* cd_secret_init gives n zeroed bytes, n >= 1. cd_secret_fini wipes and releases them; it may be called twice, and for
 * {0}. */
void cd_secret_init(cd_secret *s, usize n);
void cd_secret_fini(cd_secret *s);

/* cd_wipe zeroes n bytes, also when the compiler sees that nobody reads them afterwards. */
void cd_wipe(void *p, usize n);

/* cd_ct_eq compares in a time that depends on n alone. */
bool cd_ct_eq(const void *a, const void *b, usize n);

#endif
