/* chains/evmchain/core/world/reader.h - accounts and storage as they were after an accepted block, for any thread.
 *
 *   frozen kv ──► flat tables (newest) ──► corrected by the history table ──► value as of a version
 *
 * The history table holds, for every key a version changed, the value before:
 *
 *   'X' ‖ flat key ‖ version        value before that version (empty: there was none)
 *
 * so the value as of version v is what the first entry above v says, or the flat value when there is none: one seek.
 * An account's value leaves out the hashes of no storage and no code when it ends in both; the length in its RLP
 * header tells. Numbers in keys are big-endian. Version = height << 20 | edit: block h makes version h << 20, the
 * n-th edit after it (development network) h << 20 | n. A reader at a height sees that block's edits too.
 *
 * Threading: a reader is confined, many may read one frozen kv. [spec:evm-chain#10] [spec:dev-rpc#1.1] */
#ifndef CD_CHAINS_EVMCHAIN_WORLD_READER_H
#define CD_CHAINS_EVMCHAIN_WORLD_READER_H

#include "evm/state/state.h"
#include "store/kv.h"
#include "types/account_rlp.h"

/* The version behind everything that is stored: reads the flat tables alone. */
#define CD_WORLD_NEWEST UINT64_MAX

/* The bits of a version that count edits. */
enum { CD_WORLD_EDIT_BITS = 20 };

/* cd_world_version_of gives the version a reader at height uses: the block with all edits after it. */
CD_INLINE u64 cd_world_version_of(u64 height)
{
    return height << CD_WORLD_EDIT_BITS | ((1u << CD_WORLD_EDIT_BITS) - 1);
}

/* src must be the first thing handed on; the struct stays where it is while it is used. block_hash is the owner's to
 * fill in. */
typedef struct cd_world_reader {
    cd_state_source src;
    cd_kv *kv;
    cd_account_form form;
    u64 version;
    cd_buf value;        /* of the last read */
    cd_addr20 addr;      /* of the last read, and its hash */
    cd_hash32 addr_hash; /* zero: nothing was read yet */
    cd_arena code_arena; /* code handed out */
} cd_world_reader;

/* cd_world_reader_init reads kv, a frozen snapshot that outlives it, as of version; fini ends what was lent. form is
 * that of the world. Whoever asks for the head's state is served faster by CD_WORLD_NEWEST. */
void cd_world_reader_init(cd_world_reader *r, cd_kv *kv, cd_account_form form, u64 version);
void cd_world_reader_fini(cd_world_reader *r);

/* cd_world_oldest gives the lowest height whose state kv still holds. Errors: CD_ENOENT in a fresh store. */
cd_err cd_world_oldest(cd_kv *kv, u64 *height) CD_CHECK;

#endif
