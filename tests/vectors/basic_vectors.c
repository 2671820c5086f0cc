/* The small old suites (ethereum-basic, ethereum-genesis): keys and addresses, signed transactions,
 * genesis blocks. [spec:conformance#3] */
#include "tests/vectors/vec.h"

#include "crypto/ec/secp256k1.h"
#include "lab/mapstate.h"
#include "types/block.h"
#include "types/hashes.h"

/* The file's signatures are over a message that it does not give; they are left out. */
static bool key_case(cd_json t)
{
    u8 secret[32];
    u8 pub[64];
    cd_addr20 want;
    cd_addr20 addr;
    if (cd_json_fixed(secret, 32, cd_json_get(t, "key"), NULL) != CD_OK ||
        cd_json_fixed(want.b, 20, cd_json_get(t, "addr"), NULL) != CD_OK || cd_secp256k1_pub(pub, secret) != CD_OK) {
        return false;
    }
    cd_secp256k1_addr(&addr, pub);
    return cd_addr20_eq(&addr, &want);
}

static bool tx_case(vec *v, cd_json t)
{
    u8 secret[32];
    u8 pub[64];
    cd_addr20 want;
    cd_bytes raw;
    cd_bytes bare;
    cd_tx tx;
    u64 gas;
    if (cd_json_fixed(secret, 32, cd_json_get(t, "key"), NULL) != CD_OK ||
        cd_json_hex(&raw, &v->arena, cd_json_get(t, "signed"), NULL) != CD_OK ||
        cd_json_hex(&bare, &v->arena, cd_json_get(t, "unsigned"), NULL) != CD_OK ||
        cd_json_u64(&gas, cd_json_get(t, "startgas"), NULL) != CD_OK || cd_secp256k1_pub(pub, secret) != CD_OK ||
        cd_tx_dec(&tx, &v->arena, raw, NULL) != CD_OK || cd_tx_recover(&tx, false) != CD_OK) {
        return false;
    }
    cd_secp256k1_addr(&want, pub);
    /* Unsigned: the same fields, then three empty ones. */
    cd_buf made = {0};
    cd_rlp_put_list_head(&made, tx.unsigned_fields.n + 3);
    cd_buf_put(&made, tx.unsigned_fields);
    cd_buf_fill(&made, 0x80, 3);
    bool ok = cd_bytes_eq(cd_buf_bytes(&made), bare) && cd_addr20_eq(&want, &tx.sender) && tx.gas_limit == gas;
    cd_buf_fini(&made);
    return ok;
}

static bool genesis_case(vec *v, cd_trie_build *build, cd_json t)
{
    cd_genesis g;
    cd_bytes want;
    cd_buf text = {0};
    cd_buf made = {0};
    cd_errinfo why = {0};
    cd_json_raw(&text, t);
    bool ok = cd_genesis_parse(&g, &v->arena, cd_buf_bytes(&text), &why) == CD_OK &&
              cd_json_hex(&want, &v->arena, cd_json_get(t, "result"), &why) == CD_OK;
    if (ok) {
        cd_block b = {.header = g.header};
        b.header.uncle_hash = CD_HASH_EMPTY_LIST;
        b.header.tx_root = CD_HASH_EMPTY_TRIE;
        b.header.receipt_root = CD_HASH_EMPTY_TRIE;
        b.header.state_root = cd_mapstate_new(&v->arena, build, g.accounts, g.account_cnt)->root;
        cd_block_enc(&made, CD_HEADER_ETHEREUM, &b);
        ok = cd_bytes_eq(cd_buf_bytes(&made), want);
    }
    cd_buf_fini(&text);
    cd_buf_fini(&made);
    return ok;
}

int main(void)
{
    vec v = {0};
    cd_json doc;
    cd_trie_build *build = cd_trie_build_new(NULL, NULL);
    if (vec_json(&v, &doc, vec_path(&v, "ethereum-basic/keyaddrtest.json"))) {
        cd_json_it it = cd_json_iter(doc);
        while (cd_json_next(&it)) {
            vec_check(&v, key_case(it.val), "keyaddrtest");
        }
    }
    if (vec_json(&v, &doc, vec_path(&v, "ethereum-basic/txtest.json"))) {
        cd_json_it it = cd_json_iter(doc);
        while (cd_json_next(&it)) {
            vec_check(&v, tx_case(&v, it.val), "txtest");
        }
    }
    if (vec_json(&v, &doc, vec_path(&v, "ethereum-genesis/basic_genesis_tests.json"))) {
        cd_json_it it = cd_json_iter(doc);
        while (cd_json_next(&it)) {
            vec_check(&v, genesis_case(&v, build, it.val), "genesis %.*s", (int)it.key.n, (const char *)it.key.p);
        }
    }
    cd_trie_build_free(build);
    return vec_end(&v);
}
