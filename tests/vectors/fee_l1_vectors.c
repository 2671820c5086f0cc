/* The base fee, block gas cost and window of 21 recorded chains (testdata/evm-chain/l1-fee-sequences.json): each
 * step's values, and the header's bytes and hash. [spec:evm-chain#3.1] */
#include "base/hex.h"
#include "base/os/fileio.h"
#include "chains/evmchain/core/rules/fee_l1.h"
#include "num/u256_text.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct tally {
    unsigned passed;
    unsigned failed;
} tally;

static void check(tally *t, bool ok, cd_bytes name, usize step, const char *what)
{
    if (ok) {
        t->passed++;
    } else {
        t->failed++;
        (void)printf("FAIL %.*s step %zu: %s\n", (int)name.n, (const char *)name.p, step, what);
    }
}

static bool run_sequence(tally *t, cd_arena *a, cd_json seq)
{
    cd_bytes name;
    cd_fee_config cfg = {0};
    cd_errinfo why = {0};
    if (cd_json_str(&name, cd_json_get(seq, "name"), &why) != CD_OK ||
        cd_fee_config_parse(&cfg, cd_json_get(seq, "feeConfig"), &why) != CD_OK) {
        (void)printf("FAIL %s\n", why.msg);
        return false;
    }
    cd_header parent = {.time = 1700000000, .has = CD_HEADER_BASE_FEE | CD_HEADER_BLOCK_GAS_COST};
    parent.base_fee = cfg.min_base_fee;
    cd_json_it it = cd_json_iter(cd_json_get(seq, "steps"));
    for (usize i = 0; cd_json_next(&it); i++) {
        u64 time;
        cd_u256 want_fee;
        cd_u256 want_cost;
        cd_bytes want_window;
        cd_bytes rlp;
        cd_hash32 want_hash;
        if (cd_json_u64(&time, cd_json_get(it.val, "time"), &why) != CD_OK ||
            cd_json_u256(&want_fee, cd_json_get(it.val, "baseFee"), &why) != CD_OK ||
            cd_json_u256(&want_cost, cd_json_get(it.val, "blockGasCost"), &why) != CD_OK ||
            cd_json_hex(&want_window, a, cd_json_get(it.val, "extraPrefix"), &why) != CD_OK ||
            cd_json_hex(&rlp, a, cd_json_get(it.val, "headerRLP"), &why) != CD_OK ||
            cd_json_fixed(want_hash.b, 32, cd_json_get(it.val, "hash"), &why) != CD_OK) {
            (void)printf("FAIL %s\n", why.msg);
            return false;
        }
        u8 window[CD_FEE_WINDOW_SIZE];
        cd_u256 fee;
        cd_u256 cost;
        check(t,
              cd_fee_l1_window(window, &parent, time) == CD_OK &&
                  cd_bytes_eq(cd_bytes_of(window, sizeof window), want_window),
              name, i, "window");
        check(t, cd_fee_l1_base_fee(&fee, &cfg, &parent, time) == CD_OK && cd_u256_eq(&fee, &want_fee), name, i,
              "base fee");
        cd_fee_l1_block_gas_cost(&cost, &cfg, &parent, time);
        check(t, cd_u256_eq(&cost, &want_cost), name, i, "block gas cost");
        cd_hash32 hash;
        cd_header next;
        bool decodes = cd_header_dec_all(&next, CD_HEADER_L1, rlp, &why) == CD_OK;
        check(t, decodes, name, i, "header decodes");
        if (!decodes) {
            return false;
        }
        cd_header_hash(&hash, CD_HEADER_L1, &next);
        check(t, cd_hash32_eq(&hash, &want_hash), name, i, "header hash");
        parent = next;
    }
    return true;
}

int main(void)
{
    const char *root = getenv("CANDELA_TESTDATA");
    char path[4096];
    cd_buf text = {0};
    cd_arena a = {0};
    cd_json doc;
    cd_errinfo why = {0};
    tally t = {0};
    (void)snprintf(path, sizeof path, "%s/evm-chain/l1-fee-sequences.json", root == NULL ? "../shared/testdata" : root);
    if (cd_fs_read_file(cd_fs_real(), &text, path, 64 << 20, &why) != CD_OK) {
        (void)printf("SKIP %s\n", why.msg);
        return getenv("CI") != NULL;
    }
    if (cd_json_parse(&doc, &a, cd_buf_bytes(&text), 0, &why) != CD_OK) {
        (void)printf("FAIL %s\n", why.msg);
        return 1;
    }
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        if (!run_sequence(&t, &a, it.val)) {
            t.failed++;
        }
    }
    cd_arena_fini(&a);
    cd_buf_fini(&text);
    (void)printf("%u passed, %u failed\n", t.passed, t.failed);
    return t.failed != 0 || t.passed == 0;
}
