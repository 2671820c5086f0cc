#include "codec/ids.h"

#include "codec/base58.h"

#include <string.h>

static const char node_prefix[] = "NodeID-";

void cd_id_put(cd_buf *out, const cd_hash32 *id)
{
    cd_cb58_put(out, cd_bytes_of(id->b, sizeof id->b));
}

void cd_node_id_put(cd_buf *out, const cd_node_id *id)
{
    cd_buf_str(out, node_prefix);
    cd_cb58_put(out, cd_bytes_of(id->b, sizeof id->b));
}

void cd_short_id_put(cd_buf *out, const cd_addr20 *id)
{
    cd_cb58_put(out, cd_bytes_of(id->b, sizeof id->b));
}

cd_err cd_id_parse(cd_hash32 *out, cd_bytes text, cd_errinfo *why)
{
    return cd_cb58_parse_fixed(out->b, sizeof out->b, text, why);
}

cd_err cd_node_id_parse(cd_node_id *out, cd_bytes text, cd_errinfo *why)
{
    usize n = sizeof node_prefix - 1;
    if (text.n < n || memcmp(text.p, node_prefix, n) != 0) {
        return cd_fail(why, CD_EFORMAT, "ID: %.*s is missing the prefix: %s", (int)cd_min_u64(text.n, 100),
                       (const char *)text.p, node_prefix);
    }
    return cd_cb58_parse_fixed(out->b, sizeof out->b, cd_bytes_sub(text, n, text.n - n), why);
}

cd_err cd_short_id_parse(cd_addr20 *out, cd_bytes text, cd_errinfo *why)
{
    return cd_cb58_parse_fixed(out->b, sizeof out->b, text, why);
}

void cd_chain_addr_put(cd_buf *out, const char *chain, const char *prefix, const cd_addr20 *addr)
{
    cd_buf_str(out, chain);
    cd_buf_u8(out, '-');
    cd_bech32_put(out, prefix, cd_bytes_of(addr->b, sizeof addr->b));
}

cd_err cd_chain_addr_parse(cd_chain_addr *out, cd_bytes text, cd_errinfo *why)
{
    cd_bech32 read;
    const u8 *dash = text.n == 0 ? NULL : memchr(text.p, '-', text.n);
    if (dash == NULL) {
        return cd_fail(why, CD_EFORMAT, "no separator found in address");
    }
    usize at = (usize)(dash - text.p);
    CD_TRY(cd_bech32_parse(&read, cd_bytes_sub(text, at + 1, text.n - at - 1), why));
    if (read.n != sizeof out->addr.b) {
        return cd_fail(why, CD_ERANGE, "invalid hash length: expected %zu bytes but got %zu", sizeof out->addr.b,
                       read.n);
    }
    out->chain = cd_bytes_sub(text, 0, at);
    memcpy(out->prefix, read.prefix, sizeof out->prefix);
    memcpy(out->addr.b, read.b, sizeof out->addr.b);
    return CD_OK;
}
