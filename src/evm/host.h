/* evm/host.h - where the EVM gets committed state from: the one interface below the journal.
 *
 * The owner of the chain's data implements it (flat tables, a trie, a test's map). Reads give the
 * state at the start of the block; the EVM never writes through it. An error (I/O, corrupt data)
 * makes the whole block fail: cd_state keeps the first one (cd_state_error). Threading: confined to
 * the EVM that uses it. */
#ifndef CD_EVM_HOST_H
#define CD_EVM_HOST_H

#include "types/account.h"

typedef struct cd_state_source cd_state_source;

struct cd_state_source {
    /* account: *found false when there is none (then *out is untouched). */
    cd_err (*account)(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr);
    /* storage: a slot never written is zero. slot is the 32-byte big-endian key. */
    cd_err (*storage)(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot);
    /* code: *out is borrowed and stays valid as long as the source. */
    cd_err (*code)(cd_state_source *src, cd_bytes *out, const cd_hash32 *code_hash);
    /* block_hash: the hash of one of the 256 blocks before the current one (the caller has checked
     * the range). */
    cd_err (*block_hash)(cd_state_source *src, cd_hash32 *out, u64 number);
};

#endif
