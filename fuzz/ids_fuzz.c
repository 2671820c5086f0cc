/* Texts of IDs, addresses and encoded bytes. What is read must be written as it was, and nothing that fails leaves
 * anything behind. */
#include "codec/base58.h"
#include "codec/encoding.h"
#include "codec/ids.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

/* Compares, letters in any case where the text may have them so. */
static void same(cd_buf *got, cd_bytes want, bool any_case)
{
    CD_ASSERT(got->n == want.n);
    for (usize i = 0; i < want.n; i++) {
        u8 c = want.p[i];
        CD_ASSERT(got->p[i] == (any_case && c >= 'A' && c <= 'Z' ? (c | 0x20) : c));
    }
    cd_buf_fini(got);
}

static void base58(cd_bytes text)
{
    u8 b[CD_BASE58_BYTES_MAX];
    usize n = 0;
    cd_buf out = {0};
    if (cd_base58_parse(b, &n, text, NULL) == CD_OK) {
        cd_base58_put(&out, cd_bytes_of(b, n));
        same(&out, text, false);
    }
    if (cd_cb58_parse(b, &n, text, NULL) == CD_OK) {
        cd_cb58_put(&out, cd_bytes_of(b, n));
        same(&out, text, false);
    }
    if (text.n <= CD_CB58_BYTES_MAX) {
        cd_cb58_put(&out, text);
        CD_ASSERT(cd_cb58_parse(b, &n, cd_buf_bytes(&out), NULL) == CD_OK);
        CD_ASSERT(cd_bytes_eq(cd_bytes_of(b, n), text));
        cd_buf_fini(&out);
    }
}

static void names(cd_bytes text)
{
    cd_hash32 id;
    cd_node_id node;
    cd_chain_addr addr;
    cd_bech32 raw;
    cd_buf out = {0};
    cd_errinfo why;
    if (cd_id_parse(&id, text, &why) == CD_OK) {
        cd_id_put(&out, &id);
        same(&out, text, false);
    }
    if (cd_node_id_parse(&node, text, &why) == CD_OK) {
        cd_node_id_put(&out, &node);
        same(&out, text, false);
    }
    if (cd_bech32_parse(&raw, text, &why) == CD_OK) {
        cd_bech32_put(&out, raw.prefix, cd_bytes_of(raw.b, raw.n));
        same(&out, text, true);
    }
    (void)!cd_chain_addr_parse(&addr, text, &why);
}

static void encodings(cd_bytes text)
{
    cd_arena a = {0};
    for (cd_encoding e = CD_ENCODING_HEX; e <= CD_ENCODING_JSON; e++) {
        cd_bytes b;
        cd_errinfo why;
        if (cd_encoding_dec(&b, &a, e, text, &why) == CD_OK && text.n != 0) {
            cd_buf out = {0};
            cd_encoding_put(&out, e, b);
            same(&out, text, true);
        }
    }
    cd_arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_bytes text = cd_bytes_of(data, size);
    base58(text);
    names(text);
    encodings(text);
    return 0;
}
