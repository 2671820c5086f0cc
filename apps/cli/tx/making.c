#include "tx/making.h"

#include "decode/input.h"

#include <stdlib.h>

enum { ROWS_MAX = 64 };

/* --- what is shared --- */

cd_err cd__make_begin(cd__making *m, cd__world *w, const char *chain, const cd__payer *payer, cd_errinfo *why)
{
    *m = (cd__making){.w = w, .payer = payer};
    m->draft.chain = cd_wallet_chain_find(cd_bytes_str(chain));
    m->draft.network_id = w->network.id;
    m->purse = (cd_wallet_purse){.mem = w->mem,
                                 .addrs = payer->addrs,
                                 .addr_cnt = payer->cnt,
                                 .change = cd_wallet_owners(w->mem, &payer->addrs[0]),
                                 .now = w->now};
    m->fee = (cd_wallet_fee){.asset_id = w->asset_id};
    if (chain[0] == 'C') {
        return CD_OK; /* accounts pay, not outputs */
    }
    cd_utxo *utxos;
    CD_TRY(cd__utxos(w, &utxos, &m->purse.utxo_cnt, m->draft.chain, NULL, payer->addrs, payer->cnt, why));
    m->purse.utxos = utxos;
    return cd__fee(w, &m->fee, m->draft.chain, false, why);
}

cd_p_base cd__make_base(const cd__making *m)
{
    const bool is_x = m->draft.chain->name[0] == 'X';
    return (cd_p_base){.network_id = m->w->network.id, .chain_id = is_x ? m->w->x_chain_id : (cd_hash32){{0}}};
}

cd_linear_any cd__make_owners_part(const cd__making *m, const cd_owners *o)
{
    cd_owners *v = cd_arena_new(m->w->mem, cd_owners);
    *v = *o;
    return cd_p_part(CD_P_OWNERS, v);
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_addr20));
}

/* Makes owners of --to and --threshold; of the payer when --to names nobody. */
cd_err cd__make_owners(cd__making *m, cd_owners *out, cd_errinfo *why)
{
    const char *const *texts;
    usize cnt = cd_args_list(m->args, MAKE_TO, &texts);
    u64 threshold = cd_args_u64(m->args, MAKE_THRESHOLD);
    if (cnt == 0) {
        *out = cd_wallet_owners(m->w->mem, &m->payer->addrs[0]);
        return CD_OK;
    }
    if (threshold == 0 || threshold > cnt) {
        return cd_fail(why, CD_EINVAL, "--threshold: %llu of %zu owners cannot sign", (unsigned long long)threshold,
                       cnt);
    }
    cd_addr20 *v = cd_arena_array(m->w->mem, cd_addr20, cnt);
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(cd__addr_read(m->w, &v[i], texts[i], why));
    }
    qsort(v, cnt, sizeof *v, by_bytes);
    *out = (cd_owners){.threshold = (u32)threshold, .addrs = {.v = v, .cnt = (u32)cnt}};
    return CD_OK;
}

cd_err cd__make_amount(cd__making *m, cd_hash32 *asset, u64 *amount, cd_errinfo *why)
{
    u8 decimals;
    CD_TRY(cd__asset_find(m->w, asset, &decimals, cd_args_str(m->args, MAKE_ASSET), why));
    if (cd_args_str(m->args, MAKE_AMOUNT)[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--amount is needed");
    }
    return cd__amount_read(amount, cd_args_str(m->args, MAKE_AMOUNT), decimals, why);
}

cd_err cd__make_id(cd__making *m, cd_hash32 *out, usize option, cd_errinfo *why)
{
    static const char *const names[MAKE_CNT] = {
        [MAKE_NET] = "net-id", [MAKE_CHAIN] = "chain-id", [MAKE_VALIDATION] = "validation-id",
        [MAKE_VM] = "vm-id",   [MAKE_ASSET] = "asset",
    };
    const char *text = cd_args_str(m->args, option);
    cd_errinfo said = {0};
    if (cd_id_parse(out, cd_bytes_str(text), &said) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "--%s: an ID is needed: %s", names[option],
                       text[0] == '\0' ? "there is none" : said.msg);
    }
    return CD_OK;
}

cd_err cd__make_file(cd__making *m, cd_bytes *out, usize option, bool is_hex, cd_errinfo *why)
{
    cd__input in;
    const char *name = cd_args_str(m->args, option);
    if (name[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--%s is needed", option == MAKE_MESSAGE ? "message-file" : "genesis-file");
    }
    CD_TRY(cd__input_get(&in, m->w->mem, name, why));
    *out = in.b;
    return is_hex && in.is_text ? cd__input_bytes(out, m->w->mem, in.b, why) : CD_OK;
}

/* Reads owners as the node's methods give those of a network or of a validator. */
cd_err cd__make_read_owners(cd__making *m, cd_owners *out, cd_json keys, cd_json threshold, cd_json locktime,
                            cd_errinfo *why)
{
    u64 n;
    cd_addr20 *v = cd_arena_array(m->w->mem, cd_addr20, cd_json_len(keys));
    u32 cnt = 0;
    *out = (cd_owners){0};
    for (cd_json_it it = cd_json_iter(keys); cd_json_next(&it);) {
        cd_bytes text;
        CD_TRY(cd_json_str(&text, it.val, why));
        CD_TRY(cd__addr_read(m->w, &v[cnt++], cd_arena_str(m->w->mem, text), why));
    }
    CD_TRY(cd_json_u64(&n, threshold, why));
    CD_TRY(cd_json_u64(&out->locktime, locktime, why));
    out->threshold = (u32)cd_min_u64(n, UINT32_MAX);
    out->addrs = (cd_linear_list){.v = v, .cnt = cnt};
    return CD_OK;
}

/* Adds the agreement of the owners of --net-id, which have to sign. */
cd_err cd__make_net_auth(cd__making *m, cd_hash32 *net_id, cd_linear_any *auth, cd_errinfo *why)
{
    cd_json v;
    cd_owners owners;
    cd_wallet_slot slot;
    CD_TRY(cd__make_id(m, net_id, MAKE_NET, why));
    const char *params = cd_arena_fmt(m->w->mem, "{\"subnetID\":\"%s\"}", cd_args_str(m->args, MAKE_NET));
    CD_TRY(cd__remote_ask(m->w->node, &v, "/ext/bc/P", "platform.getSubnet", params, why));
    CD_TRY(cd__make_read_owners(m, &owners, cd_json_get(v, "controlKeys"), cd_json_get(v, "threshold"),
                                cd_json_get(v, "locktime"), why));
    CD_TRY(cd_wallet_permit(auth, &slot, &m->purse, &owners, why));
    cd_wallet_slots_add(&m->draft, m->w->mem, &slot, 1);
    return CD_OK;
}

const cd__make_row *cd__make_rows(usize *cnt)
{
    static cd__make_row all[ROWS_MAX];
    static usize n;
    if (n == 0) {
        CD_ASSERT(cd__make_move_cnt + cd__make_p_cnt + cd__make_l1_cnt + cd__make_x_cnt <= ROWS_MAX);
        for (usize i = 0; i < cd__make_move_cnt; i++) {
            all[n++] = cd__make_move[i];
        }
        for (usize i = 0; i < cd__make_x_cnt; i++) {
            all[n++] = cd__make_x[i];
        }
        for (usize i = 0; i < cd__make_p_cnt; i++) {
            all[n++] = cd__make_p[i];
        }
        for (usize i = 0; i < cd__make_l1_cnt; i++) {
            all[n++] = cd__make_l1[i];
        }
    }
    *cnt = n;
    return all;
}

const cd__make_row *cd__make_find(const char *name)
{
    usize cnt;
    const cd__make_row *rows = cd__make_rows(&cnt);
    for (usize i = 0; i < cnt; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

cd_err cd__make(cd_wallet_draft *out, const cd__make_row *row, cd__world *w, const cd_args *a, const cd__payer *payer,
                cd_errinfo *why)
{
    cd__making m;
    CD_TRY(cd__make_begin(&m, w, row->chain, payer, why));
    m.args = a;
    CD_TRY(row->make(&m, why));
    *out = m.draft;
    return CD_OK;
}
