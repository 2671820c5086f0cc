/* The outputs of addresses, page by page. */
#include "chains/utxo/utxo.h"
#include "codec/encoding.h"
#include "remote/world.h"

enum { PAGE = 1024, UTXOS_MAX = 1 << 16 };

/* Outputs so far, and where the next page begins. */
typedef struct walk {
    cd_utxo *v;
    usize cnt;
    usize cap;
    const char *end_addr; /* NULL: the first page */
    const char *end_utxo;
} walk;

static const char *page_params(const cd__world *w, const walk *at, const cd_wallet_chain *chain, const char *source,
                               const cd_addr20 *addrs, usize addr_cnt)
{
    cd_buf text = {0};
    cd_json_w out = {.out = &text};
    cd_json_w_obj(&out);
    cd_json_w_key(&out, "addresses");
    cd_json_w_arr(&out);
    for (usize i = 0; i < addr_cnt; i++) {
        cd_json_w_cstr(&out, cd__addr_text(w, chain->name, &addrs[i]));
    }
    cd_json_w_arr_end(&out);
    if (source != NULL) {
        cd_json_put_cstr(&out, "sourceChain", source);
    }
    if (at->end_addr != NULL) {
        cd_json_w_key(&out, "startIndex");
        cd_json_w_obj(&out);
        cd_json_put_cstr(&out, "address", at->end_addr);
        cd_json_put_cstr(&out, "utxo", at->end_utxo);
        cd_json_w_obj_end(&out);
    }
    cd_json_put_u64(&out, "limit", PAGE);
    cd_json_put_cstr(&out, "encoding", "hex");
    cd_json_w_obj_end(&out);
    const char *kept = cd_arena_str(w->mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return kept;
}

static bool has(const walk *at, const cd_utxo *u)
{
    for (usize i = 0; i < at->cnt; i++) {
        if (cd_hash32_eq(&at->v[i].tx_id, &u->tx_id) && at->v[i].output_idx == u->output_idx) {
            return true;
        }
    }
    return false;
}

/* Adds an output; one that several of the addresses own comes once for each of them, but is added once. */
static cd_err add_utxo(const cd__world *w, walk *at, const cd_wallet_chain *chain, cd_json text, bool may_repeat,
                       cd_errinfo *why)
{
    cd_bytes hex;
    cd_bytes bytes;
    cd_utxo u;
    CD_TRY(cd_json_str(&hex, text, why));
    CD_TRY(cd_encoding_dec(&bytes, w->mem, CD_ENCODING_HEX, hex, why));
    CD_TRY(cd_utxo_parse(&u, chain->utxo_table, w->mem, bytes, why));
    if (may_repeat && has(at, &u)) {
        return CD_OK;
    }
    if (at->cnt == at->cap) {
        cd_utxo *more = cd_arena_array(w->mem, cd_utxo, at->cap * 2 + 64);
        if (at->cnt != 0) {
            memcpy(more, at->v, at->cnt * sizeof *more);
        }
        at->v = more;
        at->cap = at->cap * 2 + 64;
    }
    at->v[at->cnt++] = u;
    return CD_OK;
}

cd_err cd__utxos(cd__world *w, cd_utxo **out, usize *cnt, const cd_wallet_chain *chain, const char *source,
                 const cd_addr20 *addrs, usize addr_cnt, cd_errinfo *why)
{
    walk at = {0};
    const char *method = cd_arena_fmt(w->mem, "%s.getUTXOs", chain->service);
    usize fetched;
    do {
        cd_json v;
        cd_bytes addr;
        cd_bytes utxo;
        const char *params = page_params(w, &at, chain, source, addrs, addr_cnt);
        CD_TRY(cd__remote_ask(w->node, &v, cd__chain_path(chain), method, params, why));
        cd_json list = cd_json_get(v, "utxos");
        cd_json end = cd_json_get(v, "endIndex");
        fetched = cd_json_len(list);
        for (cd_json_it it = cd_json_iter(list); cd_json_next(&it);) {
            CD_TRY(add_utxo(w, &at, chain, it.val, addr_cnt > 1, why));
        }
        CD_TRY(cd_json_str(&addr, cd_json_get(end, "address"), why));
        CD_TRY(cd_json_str(&utxo, cd_json_get(end, "utxo"), why));
        at.end_addr = cd_arena_str(w->mem, addr);
        at.end_utxo = cd_arena_str(w->mem, utxo);
        if (at.cnt > UTXOS_MAX) {
            return cd_fail(why, CD_ELIMIT, "more than %d outputs", UTXOS_MAX);
        }
    } while (fetched == PAGE);
    *out = at.v;
    *cnt = at.cnt;
    return CD_OK;
}
