/* State sync of an EVM chain from arbitrary bytes: the first byte chooses what is read. Questions and summaries are
 * written back to the byte; answers that are believed keep the limits of the question. */
#include "chains/evmchain/sync/check.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static void ask(cd_arena *a, cd_sync_family family, cd_bytes in)
{
    cd_sync_ask q;
    cd_buf out = {0};
    if (cd_sync_ask_parse(&q, a, family, in, NULL) == CD_OK) {
        cd_sync_ask_put(&out, family, &q);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), in));
    }
    cd_buf_fini(&out);
}

static void summary(cd_sync_family family, cd_bytes in)
{
    cd_sync_summary s;
    cd_hash32 id;
    cd_buf out = {0};
    if (cd_sync_summary_parse(&s, &id, family, in, NULL) == CD_OK) {
        cd_sync_summary_put(&out, family, &s);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), in));
    }
    cd_buf_fini(&out);
}

/* The root is that of the first node given, so that proofs get past it. */
static void leafs(cd_arena *a, cd_bytes in)
{
    cd_sync_leafs got = {.keys = {0}};
    cd_sync_ask_leafs q = {.limit = 8};
    cd_sync_run run;
    if (cd_linear_parse(&got, &cd_sync_leafs_table, a, in, 0, NULL) == CD_OK && got.proof.cnt != 0) {
        cd_keccak256(&q.root, *(const cd_bytes *)got.proof.v);
    }
    if (cd_sync_check_leafs(&run, a, &q, in, NULL) == CD_OK) {
        CD_ASSERT(run.cnt <= q.limit);
        for (usize i = 1; i < run.cnt; i++) {
            CD_ASSERT(cd_bytes_cmp(run.items[i - 1].key, run.items[i].key) < 0);
        }
    }
}

static void blocks(cd_arena *a, cd_bytes in)
{
    cd_sync_items got = {{0}};
    cd_sync_ask_blocks q = {.cnt = 4};
    cd_block first;
    cd_block *out;
    cd_bytes *raw;
    usize cnt;
    if (cd_linear_parse(&got, &cd_sync_items_table, a, in, 0, NULL) == CD_OK && got.items.cnt != 0 &&
        cd_block_dec(&first, a, CD_HEADER_C, *(const cd_bytes *)got.items.v, NULL) == CD_OK) {
        cd_header_hash(&q.hash, CD_HEADER_C, &first.header);
        q.height = first.header.number;
    }
    if (cd_sync_check_blocks(&out, &raw, &cnt, a, CD_HEADER_C, &q, in, NULL) == CD_OK) {
        CD_ASSERT(cnt != 0 && cnt <= q.cnt);
    }
}

static void code(cd_arena *a, cd_bytes in)
{
    cd_hash32 hash;
    cd_bytes *out;
    cd_keccak256(&hash, (cd_bytes){0});
    cd_sync_ask_code q = {.hashes = {.v = &hash, .cnt = 1}};
    if (cd_sync_check_code(&out, a, &q, in, NULL) == CD_OK) {
        CD_ASSERT(out[0].n == 0);
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_arena a = {0};
    if (size == 0) {
        return 0;
    }
    cd_bytes in = cd_bytes_of(data + 1, size - 1);
    switch (data[0] % 7) {
    case 0:
        ask(&a, CD_SYNC_C, in);
        break;
    case 1:
        ask(&a, CD_SYNC_L1, in);
        break;
    case 2:
        summary(CD_SYNC_C, in);
        break;
    case 3:
        summary(CD_SYNC_L1, in);
        break;
    case 4:
        leafs(&a, in);
        break;
    case 5:
        blocks(&a, in);
        break;
    default:
        code(&a, in);
    }
    cd_arena_fini(&a);
    return 0;
}
