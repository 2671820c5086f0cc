#include "chains/xvm/address.h"

#include "types/network.h"

cd_xvm_place cd_xvm_place_of(const cd_vm_ctx *ctx)
{
    return (cd_xvm_place){.ctx = ctx, .prefix = cd_network_of(ctx->network_id).prefix};
}

/* The letters of the primary network's chains. */
static bool find_alias(const cd_xvm_place *p, cd_hash32 *out, cd_bytes text)
{
    static const cd_hash32 platform;
    const cd_vm_primary *primary = p->ctx->primary;
    if (cd_bytes_eq(text, cd_bytes_str(p->ctx->name))) {
        *out = p->ctx->chain_id;
    } else if (cd_bytes_eq(text, cd_bytes_str("P"))) {
        *out = platform;
    } else if (primary != NULL && cd_bytes_eq(text, cd_bytes_str("C"))) {
        *out = primary->c_chain_id;
    } else {
        return false;
    }
    return true;
}

cd_err cd_xvm_chain_parse(const cd_xvm_place *p, cd_hash32 *out, cd_bytes text, cd_errinfo *why)
{
    if (find_alias(p, out, text) || cd_id_parse(out, text, NULL) == CD_OK) {
        return CD_OK;
    }
    return cd_fail(why, CD_ENOENT, "there is no ID with alias %.*s", (int)cd_min_u64(text.n, 64), (const char *)text.p);
}

static cd_err wrong_chain(const cd_xvm_place *p, const cd_hash32 *got, cd_errinfo *why)
{
    cd_buf a = {0};
    cd_buf b = {0};
    cd_id_put(&a, &p->ctx->chain_id);
    cd_id_put(&b, got);
    cd_err e = cd_fail(why, CD_EINVAL, "mismatched chainIDs: expected \"%s\" but got \"%s\"", cd_buf_cstr(&a),
                       cd_buf_cstr(&b));
    cd_buf_fini(&a);
    cd_buf_fini(&b);
    return e;
}

static cd_err parse(const cd_xvm_place *p, cd_addr20 *out, cd_bytes text, cd_errinfo *why)
{
    cd_chain_addr a;
    cd_hash32 chain;
    CD_TRY(cd_chain_addr_parse(&a, text, why));
    CD_TRY(cd_xvm_chain_parse(p, &chain, a.chain, why));
    if (!cd_hash32_eq(&chain, &p->ctx->chain_id)) {
        return wrong_chain(p, &chain, why);
    }
    if (strcmp(a.prefix, p->prefix) != 0) {
        return cd_fail(why, CD_EINVAL, "expected hrp \"%s\" but got \"%s\"", p->prefix, a.prefix);
    }
    *out = a.addr;
    return CD_OK;
}

cd_err cd_xvm_addr_parse(const cd_xvm_place *p, cd_addr20 *out, cd_bytes text, cd_errinfo *why)
{
    cd_errinfo said = {0};
    if (cd_short_id_parse(out, text, NULL) == CD_OK) {
        return CD_OK;
    }
    cd_err e = parse(p, out, text, &said);
    if (e == CD_OK) {
        return CD_OK;
    }
    return cd_fail(why, e, "couldn't parse address \"%.*s\": %s", (int)cd_min_u64(text.n, 100), (const char *)text.p,
                   said.msg);
}
