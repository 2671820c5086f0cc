/* chains/evmchain/sync/check.h - answers of peers, believed only as far as they prove themselves.
 *
 *   leafs   every key of the trie from start to the last one given, by a range proof of the root that was asked for
 *   blocks  the first has the hash that was asked for, each next one is the parent of the one before
 *   code    each hashes to what was asked for
 *
 * What is given lies in the arena or is borrowed from the answer. Memory is a small multiple of the answer's bytes,
 * which are at most CD_SYNC_MESSAGE_MAX. Threading: pure. [spec:evm-chain#13] */
#ifndef CD_CHAINS_EVMCHAIN_SYNC_CHECK_H
#define CD_CHAINS_EVMCHAIN_SYNC_CHECK_H

#include "chains/evmchain/sync/wire.h"
#include "store/trie.h"
#include "types/block.h"

/* A run of leafs that was proven. */
typedef struct cd_sync_run {
    const cd_trie_item *items; /* ascending, none before what was asked for */
    usize cnt;                 /* those beyond the end that was asked for left out */
    bool more;                 /* leafs up to the end may follow; the next question starts behind the last key */
} cd_sync_run;

/* cd_sync_check_leafs checks the answer to a question for leafs. Errors: CD_EPROOF; CD_ELIMIT for more leafs than were
 * asked for; those of cd_linear_parse. */
cd_err cd_sync_check_leafs(cd_sync_run *out, cd_arena *a, const cd_sync_ask_leafs *ask, cd_bytes answer,
                           cd_errinfo *why) CD_CHECK;

/* cd_sync_next_key gives the key of n bytes behind key; false: there is none. */
bool cd_sync_next_key(u8 *out, const u8 *key, usize n);

/* cd_sync_check_blocks checks the answer to a question for blocks: at least one, with their encodings in raw. Errors:
 * CD_EPROOF, CD_ELIMIT, those of cd_linear_parse and cd_block_dec. */
cd_err cd_sync_check_blocks(cd_block **out, cd_bytes **raw, usize *cnt, cd_arena *a, cd_header_layout layout,
                            const cd_sync_ask_blocks *ask, cd_bytes answer, cd_errinfo *why) CD_CHECK;

/* cd_sync_check_code checks the answer to a question for code: one for each hash. Errors: CD_EPROOF, CD_ELIMIT (longer
 * than a contract may be), those of cd_linear_parse. */
cd_err cd_sync_check_code(cd_bytes **out, cd_arena *a, const cd_sync_ask_code *ask, cd_bytes answer,
                          cd_errinfo *why) CD_CHECK;

#endif
