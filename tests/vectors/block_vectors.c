/* Blocks and headers of all layouts: recorded headers and their hashes, whole blocks, chains of
 * blocks and genesis documents. Everything must decode, hash as recorded and encode to the same
 * bytes. [spec:evm-chain#1] [spec:conformance#3] */
#include "tests/vectors/vec.h"

#include "types/block.h"
#include "types/genesis.h"

static bool header_ok(cd_header_layout layout, cd_bytes raw, const cd_hash32 *want)
{
    cd_header h;
    cd_hash32 hash;
    cd_buf out = {0};
    bool ok = cd_header_dec_all(&h, layout, raw, NULL) == CD_OK;
    if (ok) {
        cd_header_hash(&hash, layout, &h);
        cd_header_enc(&out, layout, &h);
        ok = cd_bytes_eq(cd_buf_bytes(&out), raw) && cd_hash32_eq(&hash, want);
    }
    cd_buf_fini(&out);
    return ok;
}

static bool block_ok(cd_block *b, cd_arena *a, cd_header_layout layout, cd_bytes raw)
{
    cd_errinfo why = {0};
    if (cd_block_dec(b, a, layout, raw, &why) != CD_OK) {
        (void)printf("%s\n", why.msg);
        return false;
    }
    /* Transactions are encoded from their fields, not copied. */
    for (usize i = 0; i < b->tx_cnt; i++) {
        b->txs[i].raw = (cd_bytes){0};
    }
    cd_buf out = {0};
    cd_block_enc(&out, layout, b);
    bool ok = cd_bytes_eq(cd_buf_bytes(&out), raw);
    cd_buf_fini(&out);
    return ok;
}

/* Looks at every object of a document for headers, blocks and genesis documents. */
static void look(vec *v, cd_json j, cd_header_layout layout, const char *file, int depth)
{
    cd_bytes raw;
    cd_hash32 hash;
    cd_block b;
    bool has_hash = cd_json_fixed(hash.b, 32, cd_json_get(j, "hash"), NULL) == CD_OK ||
                    cd_json_fixed(hash.b, 32, cd_json_get(j, "blockHash"), NULL) == CD_OK;
    if (has_hash && cd_json_hex(&raw, &v->arena, cd_json_get(j, "headerRLP"), NULL) == CD_OK) {
        vec_check(v, header_ok(layout, raw, &hash), "%s: a header", file);
    }
    if (cd_json_hex(&raw, &v->arena, cd_json_get(j, "blockRLP"), NULL) == CD_OK) {
        vec_check(v, block_ok(&b, &v->arena, layout, raw) && cd_hash32_eq(&b.hash, &hash), "%s: a block", file);
    }
    if (cd_json_hex(&raw, &v->arena, cd_json_get(j, "blockBytes"), NULL) == CD_OK) {
        vec_check(v, block_ok(&b, &v->arena, layout, raw), "%s: a block", file);
    }
    if (cd_json_has(cd_json_get(j, "genesis"))) {
        cd_buf text = {0};
        cd_genesis g;
        cd_errinfo why = {0};
        cd_json_raw(&text, cd_json_get(j, "genesis"));
        cd_err e = cd_genesis_parse(&g, &v->arena, cd_buf_bytes(&text), &why);
        vec_check(v, e == CD_OK && g.config.layout == layout, "%s: genesis %s", file, why.msg);
        cd_buf_fini(&text);
    }
    cd_json_it it = cd_json_iter(j);
    while (depth > 0 && cd_json_next(&it)) {
        look(v, it.val, layout, file, depth - 1);
    }
}

static void run_json(vec *v, const char *file, cd_header_layout layout)
{
    cd_json doc;
    if (vec_json(v, &doc, vec_path(v, file))) {
        look(v, doc, layout, file, 5);
    }
}

/* A file of blocks one after another, each the child of the one before. */
static void run_chain(vec *v, const char *file)
{
    cd_bytes all;
    if (!vec_read(v, &all, vec_path(v, file))) {
        return;
    }
    cd_rlp r = cd_rlp_init(all);
    cd_hash32 parent = {0};
    for (usize i = 0; cd_rlp_more(&r); i++) {
        cd_arena_mark mark = cd_arena_mark_get(&v->arena);
        cd_rlp_item it = cd_rlp_next(&r);
        cd_block b;
        bool ok = block_ok(&b, &v->arena, CD_HEADER_ETHEREUM, it.raw) &&
                  (i == 0 || cd_hash32_eq(&b.header.parent_hash, &parent));
        parent = b.hash;
        vec_check(v, ok, "%s: block %zu", file, i + 1);
        cd_arena_rewind(&v->arena, mark);
    }
    vec_check(v, cd_rlp_end(&r) == CD_OK, "%s: end", file);
}

static void run_genesis(vec *v, const char *file)
{
    cd_bytes text;
    cd_genesis g;
    cd_errinfo why = {0};
    if (vec_read(v, &text, vec_path(v, file))) {
        cd_err e = cd_genesis_parse(&g, &v->arena, text, &why);
        vec_check(v, e == CD_OK && g.account_cnt != 0, "%s: %s", file, why.msg);
    }
}

int main(void)
{
    vec v = {0};
    run_json(&v, "evm-chain/l1-fee-sequences.json", CD_HEADER_L1);
    run_json(&v, "evm-chain/l1-genesis.json", CD_HEADER_L1);
    run_json(&v, "evm-chain/cchain-fee-sequences.json", CD_HEADER_C);
    run_json(&v, "evm-chain/cchain-genesis.json", CD_HEADER_C);
    run_json(&v, "evm-chain/cchain-atomic.json", CD_HEADER_C);
    run_chain(&v, "rpc-compat/chain.rlp");
    run_chain(&v, "bench-evm/blocks/blocks_eth.rlp");
    run_chain(&v, "bench-evm/blocks/blocks_erc20.rlp");
    run_chain(&v, "bench-evm/blocks/blocks_swap.rlp");
    run_genesis(&v, "rpc-compat/genesis.json");
    run_genesis(&v, "bench-evm/blocks/genesis.json");
    return vec_end(&v);
}
