/* Atomic transactions of the C-Chain: testdata/evm-chain/cchain-atomic.json (two of each era, with their blocks and
 * what they left in shared memory) and testdata/node-api/vectors/cchain-atomic-txs.json. Each is read, written back to
 * the byte, hashed to its ID, and its signed part is the part that was signed. */
#include "vec.h"

#include "base/hex.h"
#include "codec/ids.h"
#include "crypto/hash/sha2.h"
#include "types/block.h"
#include "types/ctx.h"

/* Reads a member of row as bytes; with or without 0x. */
static cd_bytes bytes_of(vec *v, cd_json row, const char *key)
{
    cd_bytes text = {0};
    (void)!cd_json_str(&text, cd_json_get(row, key), NULL);
    if (text.n >= 2 && text.p[1] == 'x') {
        text = cd_bytes_sub(text, 2, text.n - 2);
    }
    u8 *p = cd_arena_alloc(&v->arena, text.n / 2 + 1);
    vec_check(v, text.n != 0 && cd_hex_parse(p, text) == CD_OK, "%s is no hex", key);
    return cd_bytes_of(p, text.n / 2);
}

static bool reads(vec *v, cd_c_tx *tx, const char *name, cd_bytes bytes)
{
    cd_errinfo why = {0};
    *tx = (cd_c_tx){.creds = {.cnt = 0}};
    cd_err e = cd_linear_parse(tx, &cd_c_tx_table, &v->arena, bytes, 0, &why);
    vec_check(v, e == CD_OK, "%s: %s", name, why.msg);
    return e == CD_OK;
}

static void check_tx(vec *v, const char *name, cd_bytes signed_bytes, cd_bytes unsigned_bytes, cd_bytes id_text)
{
    cd_c_tx tx;
    cd_buf out = {0};
    cd_buf id = {0};
    cd_hash32 hash;
    if (!reads(v, &tx, name, signed_bytes)) {
        return;
    }
    vec_check(v, cd_linear_size(&cd_c_tx_table, &tx) == signed_bytes.n, "%s: size", name);
    cd_linear_put(&out, &cd_c_tx_table, &tx);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), signed_bytes), "%s: not the same bytes again", name);
    cd_sha256(&hash, cd_buf_bytes(&out));
    cd_id_put(&id, &hash);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&id), id_text), "%s: ID", name);
    cd_buf_clear(&out);
    cd_linear_put(&out, &cd_c_unsigned_table, &tx);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), unsigned_bytes), "%s: not what was signed", name);
    bool is_refused = true;
    for (usize n = 0; n < signed_bytes.n; n++) {
        cd_c_tx cut = {.creds = {.cnt = 0}};
        is_refused = is_refused && cd_linear_parse(&cut, &cd_c_tx_table, &v->arena, cd_bytes_sub(signed_bytes, 0, n), 0,
                                                   NULL) == CD_ESHORT;
    }
    vec_check(v, is_refused, "%s: a part of it is read", name);
    cd_buf_fini(&out);
    cd_buf_fini(&id);
}

static cd_bytes text_of(cd_json row, const char *key)
{
    cd_bytes text = {0};
    (void)!cd_json_str(&text, cd_json_get(row, key), NULL);
    return text;
}

static void check_named(vec *v, cd_json row)
{
    const char *name = cd_arena_str(&v->arena, text_of(row, "name"));
    check_tx(v, name, bytes_of(v, row, "hex"), bytes_of(v, row, "unsignedHex"), text_of(row, "id"));
}

/* The transaction stands in the extra data of its block: alone before the fifth phase, then in a batch. */
static void check_block(vec *v, const char *name, cd_json row, cd_bytes signed_bytes)
{
    cd_block b;
    cd_errinfo why = {0};
    cd_bytes ext = bytes_of(v, row, "extData");
    cd_c_batch batch = {.txs = {.cnt = 0}};
    cd_buf out = {0};
    cd_err e = cd_block_dec(&b, &v->arena, CD_HEADER_C, bytes_of(v, row, "blockBytes"), &why);
    vec_check(v, e == CD_OK && cd_bytes_eq(b.ext_data, ext), "%s: block: %s", name, why.msg);
    if (cd_bytes_eq(ext, signed_bytes)) {
        return;
    }
    e = cd_linear_parse(&batch, &cd_c_batch_table, &v->arena, ext, 0, &why);
    vec_check(v, e == CD_OK && batch.txs.cnt == 1, "%s: batch: %s", name, why.msg);
    cd_linear_put(&out, &cd_c_batch_table, &batch);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), ext), "%s: not the same batch again", name);
    cd_buf_clear(&out);
    if (e == CD_OK && batch.txs.cnt == 1) {
        cd_linear_put(&out, &cd_c_tx_table, batch.txs.v);
    }
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), signed_bytes), "%s: another transaction in the batch", name);
    cd_buf_fini(&out);
}

static void check_era(vec *v, cd_json row)
{
    static const char *const kinds[] = {"import", "export"};
    const char *fork = cd_arena_str(&v->arena, text_of(row, "fork"));
    for (usize i = 0; i < CD_COUNT(kinds); i++) {
        cd_json one = cd_json_get(row, kinds[i]);
        cd_bytes signed_bytes = bytes_of(v, one, "signedBytes");
        const char *name = cd_arena_fmt(&v->arena, "%s %s", fork, kinds[i]);
        check_tx(v, name, signed_bytes, bytes_of(v, one, "unsignedBytes"), text_of(one, "txID"));
        check_block(v, name, one, signed_bytes);
    }
}

static void each(vec *v, const char *file, void (*check)(vec *, cd_json), usize cnt)
{
    cd_bytes text;
    cd_json all = {0};
    if (vec_read(v, &text, vec_path(v, file)) && cd_json_parse(&all, &v->arena, text, 0, NULL) == CD_OK) {
        cd_json_it it = cd_json_iter(all);
        while (cd_json_next(&it)) {
            check(v, it.val);
        }
    }
    vec_check(v, cd_json_len(all) == cnt, "%s: %zu rows", file, cd_json_len(all));
}

int main(void)
{
    vec v = {0};
    each(&v, "node-api/vectors/cchain-atomic-txs.json", check_named, 4);
    each(&v, "evm-chain/cchain-atomic.json", check_era, 9);
    return vec_end(&v);
}
