#include "chains/evmchain/core/accepted.h"

#include "chains/evmchain/core/chaindb.h"

cd_err cd_accepted_load(cd_accepted *out, cd_arena *a, cd_kv *kv, cd_header_layout layout, const cd_hash32 *hash)
{
    cd_accepted acc = {0};
    cd_buf rlp = {0};
    cd_err e = cd_chaindb_block(kv, &rlp, hash);
    if (e == CD_OK) {
        acc.rlp = cd_arena_dup(a, cd_buf_bytes(&rlp));
        e = cd_block_dec(&acc.block, a, layout, acc.rlp, NULL) == CD_OK ? CD_OK : CD_ECORRUPT;
    }
    cd_buf_fini(&rlp);
    if (e == CD_OK) {
        e = cd_chaindb_receipts(kv, &acc.receipts, a, &acc.block);
    }
    if (e == CD_ENOENT) {
        u64 floor = 0;
        acc.is_bare = cd_chaindb_floor(kv, &floor) == CD_OK && acc.block.header.number < floor;
        e = acc.is_bare ? cd_chaindb_bare_receipts(&acc.receipts, a, &acc.block) : e;
    }
    if (e == CD_OK) {
        *out = acc;
    }
    return e;
}

void cd_accepted_of_run(cd_accepted *out, cd_arena *a, cd_header_layout layout, const cd_run_header *at)
{
    cd_buf rlp = {0};
    cd_accepted acc = {.block = {.header = at->h, .hash = at->hash}};
    acc.block.header.extra = cd_arena_dup(a, at->h.extra);
    cd_block_enc(&rlp, layout, &acc.block);
    acc.rlp = cd_arena_dup(a, cd_buf_bytes(&rlp));
    cd_buf_fini(&rlp);
    *out = acc;
}

cd_err cd_accepted_load_at(cd_accepted *out, cd_arena *a, cd_kv *kv, cd_header_layout layout, u64 number)
{
    cd_hash32 hash;
    cd_run run;
    cd_run_header at;
    cd_err e = cd_chaindb_hash(kv, &hash, number);
    if (e == CD_OK) {
        return cd_accepted_load(out, a, kv, layout, &hash);
    }
    if (e == CD_ENOENT) {
        CD_TRY(cd_run_find(kv, &run, number));
        e = cd_run_at(kv, &at, &run, layout, number, NULL, NULL);
    }
    if (e == CD_OK) {
        cd_accepted_of_run(out, a, layout, &at);
    }
    return e;
}

/* Blocks of a run that somebody wants to hear of from a height on. */
typedef struct listener {
    u64 from;
    cd_hash_seen *seen;
    void *ctx;
} listener;

static void hear(void *ctx, const cd_run_header *at)
{
    const listener *l = ctx;
    if (at->h.number >= l->from) {
        l->seen(l->ctx, at->h.number, &at->hash);
    }
}

cd_err cd_accepted_hashes(cd_kv *kv, cd_header_layout layout, u64 from, u64 to, cd_hash_seen *seen, void *ctx)
{
    for (u64 n = from; n < to;) {
        cd_hash32 hash;
        cd_run run;
        cd_run_header at;
        cd_err e = cd_chaindb_hash(kv, &hash, n);
        if (e == CD_OK) {
            seen(ctx, n++, &hash);
            continue;
        }
        if (e != CD_ENOENT) {
            return e;
        }
        CD_TRY(cd_run_find(kv, &run, n));
        u64 mark_end = n + (CD_RUN_MARK - 1 - (n - run.first) % CD_RUN_MARK);
        u64 last = cd_min_u64(cd_min_u64(run.last, to - 1), mark_end);
        listener l = {.from = n, .seen = seen, .ctx = ctx};
        CD_TRY(cd_run_at(kv, &at, &run, layout, last, hear, &l));
        n = last + 1;
    }
    return CD_OK;
}
