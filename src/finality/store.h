/* finality/store.h - certificates on disk: by block, and the heights at which blocks are final.
 *
 *   put ──► certificate of a block; one with more signatures replaces another
 *   a final block ──► by number, so that old ones can be let go: all of the newest, then one of CD_FIN_STORE_STEP
 *
 * Reading is for any thread; writing is confined. [spec:finality#6] */
#ifndef CD_FINALITY_STORE_H
#define CD_FINALITY_STORE_H

#include "finality/cert/cert.h"
#include "store/kv.h"

/* Of each chain: final blocks whose certificates are all there, one of so many older ones, and blocks whose certificate
 * by BLS alone is there. */
enum { CD_FIN_STORE_NEWEST = 256, CD_FIN_STORE_STEP = 1200, CD_FIN_STORE_BLS = 65536 };

typedef struct cd_fin_store cd_fin_store;

/* cd_fin_store_new keeps under prefix in a whole store, which it borrows; cd_fin_store_free: NULL is allowed. */
cd_fin_store *cd_fin_store_new(cd_kv *store, cd_bytes prefix) __attribute__((returns_nonnull));
void cd_fin_store_free(cd_fin_store *s);

/* A block with a certificate. */
typedef struct cd_fin_mark {
    cd_hash32 block;
    u64 height;
    cd_fin_type type;
} cd_fin_mark;

/* cd_fin_store_put keeps the certificate of a block of a chain. Errors: the store's. */
cd_err cd_fin_store_put(cd_fin_store *s, const cd_hash32 *chain, const cd_fin_mark *mark, cd_bytes cert,
                        cd_errinfo *why) CD_CHECK;

/* cd_fin_store_get appends the certificate of a block. cd_fin_store_at gives the block of a height that has one.
 * cd_fin_store_last gives the highest final block, or with any the highest that has a certificate. Any thread.
 * Errors: CD_ENOENT, CD_ECORRUPT, the store's. */
cd_err cd_fin_store_get(cd_fin_store *s, cd_buf *out, const cd_hash32 *chain, const cd_hash32 *block) CD_CHECK;
cd_err cd_fin_store_at(cd_fin_store *s, cd_fin_mark *out, const cd_hash32 *chain, u64 height) CD_CHECK;
cd_err cd_fin_store_last(cd_fin_store *s, cd_fin_mark *out, const cd_hash32 *chain, bool any) CD_CHECK;

#endif
