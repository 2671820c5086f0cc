/* Issuing a transaction, and what becomes of it. */
#include "codec/encoding.h"
#include "remote/world.h"

enum { AWAIT_MS = 50, AWAIT_MAX = 2400 };

cd_err cd__issue(cd__world *w, cd_hash32 *id, const cd_wallet_draft *d, cd_errinfo *why)
{
    cd_buf bytes = {0};
    cd_buf params = {0};
    cd_json_w out = {.out = &params};
    cd_json v;
    cd_bytes text;
    const cd_addr20 *missing = cd_wallet_missing(d);
    if (missing != NULL) {
        return cd_fail(why, CD_EACCES, "%s has not signed yet", cd__addr_text(w, d->chain->name, missing));
    }
    if (d->network_id != w->network.id) {
        return cd_fail(why, CD_EINVAL, "the transaction is for network %u, the node is of network %u", d->network_id,
                       w->network.id);
    }
    cd_wallet_bytes(&bytes, d);
    if (bytes.n > d->chain->tx_max) {
        cd_buf_fini(&bytes);
        return cd_fail(why, CD_ELIMIT, "the transaction has %zu bytes, %u is the most", bytes.n, d->chain->tx_max);
    }
    cd_json_w_obj(&out);
    cd_json_w_key(&out, "tx");
    cd_buf hex = {0};
    cd_encoding_put(&hex, CD_ENCODING_HEX, cd_buf_bytes(&bytes));
    cd_json_w_str(&out, cd_buf_bytes(&hex));
    cd_json_put_cstr(&out, "encoding", "hex");
    cd_json_w_obj_end(&out);
    cd_err e = cd__remote_ask(w->node, &v, cd__chain_path(d->chain),
                              cd_arena_fmt(w->mem, "%s.issueTx", d->chain->service), cd_buf_cstr(&params), why);
    e = e != CD_OK ? e : cd_json_str(&text, cd_json_get(v, "txID"), why);
    e = e != CD_OK ? e : cd_id_parse(id, text, why);
    cd_buf_fini(&hex);
    cd_buf_fini(&bytes);
    cd_buf_fini(&params);
    return e;
}

cd_err cd__await(cd__world *w, const char **status, const cd_wallet_chain *chain, const cd_hash32 *id, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    const char *params = cd_arena_fmt(w->mem, "{\"txID\":\"%s\"}", cd_buf_cstr(&text));
    const char *method =
        cd_arena_fmt(w->mem, "%s.get%sTxStatus", chain->service, chain->name[0] == 'C' ? "Atomic" : "");
    cd_buf_fini(&text);
    for (int i = 0; i < AWAIT_MAX; i++) {
        cd_json v;
        cd_bytes word;
        cd_bytes reason = {0};
        CD_TRY(cd__remote_ask(w->node, &v, cd__chain_path(chain), method, params, why));
        CD_TRY(cd_json_str(&word, cd_json_get(v, "status"), why));
        if (cd_bytes_eq(word, cd_bytes_str("Dropped"))) {
            (void)!cd_json_str(&reason, cd_json_get(v, "reason"), NULL);
            return cd_fail(why, CD_EACCES, "dropped: %.*s", (int)cd_min_u64(reason.n, 220), (const char *)reason.p);
        }
        if (!cd_bytes_eq(word, cd_bytes_str("Processing")) && !cd_bytes_eq(word, cd_bytes_str("Unknown"))) {
            *status = cd_arena_str(w->mem, word);
            return CD_OK;
        }
        cd__remote_pause(w->node, AWAIT_MS);
    }
    return cd_fail(why, CD_ETIMEOUT, "not decided after two minutes; it may still be");
}
