/* chains/evmchain/rpc/rendered.h - answers about recent blocks as text, rendered once for everybody who asks.
 *
 * What is accepted never changes, so the hash of a block and what is shown of it name the text; those not asked for
 * for longest go when there are too many bytes. Threading: shared. */
#ifndef CD_CHAINS_EVMCHAIN_RPC_RENDERED_H
#define CD_CHAINS_EVMCHAIN_RPC_RENDERED_H

#include "base/mem/shared.h"
#include "base/thread/thread.h"
#include "types/hashes.h"

/* What is shown of a block. */
typedef enum cd__shown {
    CD__SHOWN_HASHES, /* the block with the hashes of its transactions */
    CD__SHOWN_WHOLE,  /* with all of them */
    CD__SHOWN_RECEIPTS,
} cd__shown;

/* Answers about recent blocks, kept as text. */
typedef struct cd__rendered {
    cd_mutex lock; /* protects texts */
    struct cd_lru *texts;
} cd__rendered;

/* cd__rendered_init keeps up to bytes of text. fini: when no request is left. */
void cd__rendered_init(cd__rendered *r, usize bytes);
void cd__rendered_fini(cd__rendered *r);

/* cd__rendered_get gives the text of a block, a reference of the caller's, or NULL; _put remembers it, with a reference
 * of its own, unless it alone is too long. */
cd_shared *cd__rendered_get(cd__rendered *r, const cd_hash32 *block, cd__shown what);
void cd__rendered_put(cd__rendered *r, const cd_hash32 *block, cd__shown what, cd_shared *text);

/* cd__rendered_bytes counts the bytes of the texts that are kept. */
usize cd__rendered_bytes(cd__rendered *r);

#endif
