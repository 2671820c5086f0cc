#include "remote/world.h"

#include "base/os/clock.h"

enum { DECIMALS_EVM = 18 };

/* --- what the node is --- */

static cd_err ask_id(cd__world *w, cd_hash32 *out, const char *path, const char *method, const char *params,
                     const char *member, cd_errinfo *why)
{
    cd_json v;
    cd_bytes text;
    CD_TRY(cd__remote_ask(w->node, &v, path, method, params, why));
    CD_TRY(cd_json_str(&text, cd_json_get(v, member), why));
    return cd_id_parse(out, text, why);
}

static cd_err ask_all(cd__world *w, cd_errinfo *why)
{
    cd_json v;
    u64 id;
    CD_TRY(cd__remote_ask(w->node, &v, "/ext/info", "info.getNetworkID", "{}", why));
    CD_TRY(cd_json_u64(&id, cd_json_get(v, "networkID"), why));
    w->network = cd_network_of((u32)id);
    CD_TRY(ask_id(w, &w->x_chain_id, "/ext/info", "info.getBlockchainID", "{\"alias\":\"X\"}", "blockchainID", why));
    CD_TRY(ask_id(w, &w->c_chain_id, "/ext/info", "info.getBlockchainID", "{\"alias\":\"C\"}", "blockchainID", why));
    CD_TRY(ask_id(w, &w->asset_id, "/ext/bc/P", "platform.getStakingAssetID", "{}", "assetID", why));
    cd_hash32 same;
    cd_buf text = {0};
    cd_id_put(&text, &w->asset_id);
    cd_err e = cd__asset_find(w, &same, &w->decimals, cd_buf_cstr(&text), why);
    cd_buf_fini(&text);
    return e;
}

cd_err cd__world_open(cd__world *out, cd_arena *mem, const char *url, cd_errinfo *why)
{
    *out = (cd__world){.mem = mem, .now = cd_clock_wall_s(cd_clock_real())};
    CD_TRY(cd__remote_new(&out->node, mem, url, why));
    return ask_all(out, why);
}

void cd__world_close(cd__world *w)
{
    cd__remote_free(w->node);
    w->node = NULL;
}

cd_err cd__chain_id(const cd__world *w, cd_hash32 *out, const char *letter, cd_errinfo *why)
{
    static const cd_hash32 platform;
    if (cd_wallet_chain_find(cd_bytes_str(letter)) == NULL) {
        return cd_fail(why, CD_EINVAL, "a chain is P, X or C, got \"%.20s\"", letter);
    }
    *out = letter[0] == 'P' ? platform : letter[0] == 'X' ? w->x_chain_id : w->c_chain_id;
    return CD_OK;
}

const char *cd__chain_path(const cd_wallet_chain *chain)
{
    return chain->name[0] == 'P' ? "/ext/bc/P" : chain->name[0] == 'X' ? "/ext/bc/X" : "/ext/bc/C/avax";
}

u64 cd__wei_per_unit(const cd__world *w)
{
    u64 n = 1;
    for (int i = w->decimals; i < DECIMALS_EVM; i++) {
        n *= 10;
    }
    return n;
}

/* --- addresses, assets, amounts --- */

const char *cd__addr_text(const cd__world *w, const char *chain, const cd_addr20 *addr)
{
    cd_buf text = {0};
    cd_chain_addr_put(&text, chain, w->network.prefix, addr);
    const char *kept = cd_arena_str(w->mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return kept;
}

cd_err cd__addr_read(const cd__world *w, cd_addr20 *out, const char *text, cd_errinfo *why)
{
    cd_chain_addr a;
    const char *whole = strchr(text, '-') != NULL ? text : cd_arena_fmt(w->mem, "P-%s", text);
    cd_errinfo said = {0};
    if (cd_chain_addr_parse(&a, cd_bytes_str(whole), &said) != CD_OK) {
        return cd_fail(why, CD_EFORMAT, "couldn't parse address \"%.100s\": %s", text, said.msg);
    }
    if (strcmp(a.prefix, w->network.prefix) != 0) {
        return cd_fail(why, CD_EINVAL, "%.100s is an address of another network: here they begin with %s1", text,
                       w->network.prefix);
    }
    *out = a.addr;
    return CD_OK;
}

cd_err cd__asset_find(cd__world *w, cd_hash32 *id, u8 *decimals, const char *text, cd_errinfo *why)
{
    cd_json v;
    cd_bytes id_text;
    u64 digits;
    cd_buf params = {0};
    cd_json_w out = {.out = &params};
    if (text[0] == '\0') {
        *id = w->asset_id;
        *decimals = w->decimals;
        return CD_OK;
    }
    cd_json_w_obj(&out);
    cd_json_put_cstr(&out, "assetID", text);
    cd_json_w_obj_end(&out);
    cd_err e = cd__remote_ask(w->node, &v, "/ext/bc/X", "avm.getAssetDescription", cd_buf_cstr(&params), why);
    cd_buf_fini(&params);
    CD_TRY(e);
    CD_TRY(cd_json_str(&id_text, cd_json_get(v, "assetID"), why));
    CD_TRY(cd_id_parse(id, id_text, why));
    CD_TRY(cd_json_u64(&digits, cd_json_get(v, "denomination"), why));
    if (digits > DECIMALS_EVM) {
        return cd_fail(why, CD_ERANGE, "an asset of %llu decimals", (unsigned long long)digits);
    }
    *decimals = (u8)digits;
    return CD_OK;
}

cd_err cd__amount_read(u64 *out, const char *text, u8 decimals, cd_errinfo *why)
{
    u64 n = 0;
    u32 behind = 0;
    bool is_behind = false;
    bool is_good = text[0] != '\0' && text[0] != '.';
    for (const char *p = text; *p != '\0' && is_good; p++) {
        if (*p == '.' && !is_behind) {
            is_behind = true;
            is_good = p[1] != '\0';
        } else if (*p >= '0' && *p <= '9' && !(is_behind && behind == decimals)) {
            behind += is_behind;
            is_good = cd_mul_u64(&n, n, 10) && cd_add_u64(&n, n, (u64)(*p - '0'));
        } else {
            is_good = false;
        }
    }
    for (; behind < decimals && is_good; behind++) {
        is_good = cd_mul_u64(&n, n, 10);
    }
    if (!is_good) {
        return cd_fail(why, CD_EINVAL, "\"%.40s\" is no amount: digits, with at most %u of them behind a point", text,
                       decimals);
    }
    *out = n;
    return CD_OK;
}

const char *cd__amount_text(cd_arena *mem, u64 amount, u8 decimals)
{
    u64 unit = 1;
    for (u8 i = 0; i < decimals; i++) {
        unit *= 10;
    }
    if (amount % unit == 0) {
        return cd_arena_fmt(mem, "%llu", (unsigned long long)(amount / unit));
    }
    char *text = cd_arena_fmt(mem, "%llu.%0*llu", (unsigned long long)(amount / unit), (int)decimals,
                              (unsigned long long)(amount % unit));
    usize n = strlen(text);
    while (text[n - 1] == '0') {
        text[--n] = '\0';
    }
    return text;
}

/* --- fees --- */

static cd_err p_fee(cd__world *w, cd_wallet_fee *out, cd_errinfo *why)
{
    cd_json config;
    cd_json state;
    cd_gas_dims *weights = cd_arena_new(w->mem, cd_gas_dims);
    u64 *const parts[] = {&weights->bandwidth, &weights->reads, &weights->writes, &weights->compute};
    CD_TRY(cd__remote_ask(w->node, &config, "/ext/bc/P", "platform.getFeeConfig", "{}", why));
    CD_TRY(cd__remote_ask(w->node, &state, "/ext/bc/P", "platform.getFeeState", "{}", why));
    for (usize i = 0; i < CD_COUNT(parts); i++) {
        CD_TRY(cd_json_u64(parts[i], cd_json_at(cd_json_get(config, "weights"), i), why));
    }
    CD_TRY(cd_json_u64(&out->price, cd_json_get(state, "price"), why));
    out->price += out->price / 8; /* the price may rise until then; what is too much is burned */
    out->weights = weights;
    out->legacy_stakers = w->network.family->legacy_stakers;
    return CD_OK;
}

cd_err cd__fee(cd__world *w, cd_wallet_fee *out, const cd_wallet_chain *chain, bool creates_asset, cd_errinfo *why)
{
    cd_json v;
    *out = (cd_wallet_fee){.asset_id = w->asset_id};
    if (chain->name[0] == 'P') {
        return p_fee(w, out, why);
    }
    CD_TRY(cd__remote_ask(w->node, &v, "/ext/bc/X", "avm.getTxFee", "{}", why));
    return cd_json_u64(&out->fixed, cd_json_get(v, creates_asset ? "createAssetTxFee" : "txFee"), why);
}

cd_err cd__base_fee(cd__world *w, cd_u256 *out, cd_errinfo *why)
{
    cd_json v;
    CD_TRY(cd__remote_ask(w->node, &v, "/ext/bc/C/rpc", "eth_baseFee", "[]", why));
    return cd_json_qty_u256(out, v, why);
}
