/* txpool_ methods, and why something waits. [spec:eth-rpc#4] */
#include "chains/evmchain/feed/json.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "chains/evmchain/rpc/sending/keys.h"
#include "num/u256_text.h"
#include "rpc/param.h"
#include "types/addr_text.h"

#include <stdio.h>
#include <stdlib.h>

/* What is shown of a waiting transaction. */
typedef void show_fn(cd_json_w *w, const cd_tx *tx);

/* A member of an object whose members ascend by name. */
typedef struct member {
    char name[CD_ADDR_TEXT_SIZE];
    const cd_txpool_account *account;
    const cd_tx *tx;
} member;

static int compare(const void *x, const void *y)
{
    return strcmp(((const member *)x)->name, ((const member *)y)->name);
}

static void sort(member *m, usize cnt)
{
    if (cnt > 1) {
        qsort(m, cnt, sizeof *m, compare);
    }
}

/* Transactions [from, to) of an account, by nonce as text. */
static void write_account(cd_rpc_call *call, const cd_txpool_account *a, usize from, usize to, show_fn *show)
{
    cd_json_w *w = call->out;
    member *m = cd_arena_array(call->arena, member, to - from);
    for (usize i = from; i < to; i++) {
        member *one = &m[i - from];
        one->tx = &a->txs[i]->tx;
        (void)snprintf(one->name, sizeof one->name, "%llu", (unsigned long long)one->tx->nonce);
    }
    sort(m, to - from);
    cd_json_w_obj(w);
    for (usize i = 0; i < to - from; i++) {
        cd_json_w_key(w, m[i].name);
        show(w, m[i].tx);
    }
    cd_json_w_obj_end(w);
}

/* All senders with pending, or queued, transactions, by address as text. */
static void write_part(cd_rpc_call *call, const char *key, bool pending, show_fn *show)
{
    cd_json_w *w = call->out;
    usize cnt;
    usize used = 0;
    cd_txpool_account *all = cd_txpool_accounts(cd_api_of(call)->pool, &cnt, call->arena);
    member *m = cd_arena_array(call->arena, member, cnt);
    for (usize i = 0; i < cnt; i++) {
        if (pending ? all[i].pending_cnt != 0 : all[i].pending_cnt != all[i].cnt) {
            (void)cd_addr_fmt(m[used].name, &all[i].addr);
            m[used++].account = &all[i];
        }
    }
    sort(m, used);
    cd_json_w_key(w, key);
    cd_json_w_obj(w);
    for (usize i = 0; i < used; i++) {
        const cd_txpool_account *a = m[i].account;
        cd_json_w_key(w, m[i].name);
        write_account(call, a, pending ? 0 : a->pending_cnt, pending ? a->pending_cnt : a->cnt, show);
    }
    cd_json_w_obj_end(w);
}

static cd_err write_pool(cd_rpc_call *call, show_fn *show)
{
    cd_json_w_obj(call->out);
    write_part(call, "pending", true, show);
    write_part(call, "queued", false, show);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

static void show_whole(cd_json_w *w, const cd_tx *tx)
{
    cd_api_tx(w, tx, &(cd_tx_place){.block = NULL});
}

static void show_summary(cd_json_w *w, const cd_tx *tx)
{
    char to[CD_ADDR_TEXT_SIZE] = "contract creation";
    char value[CD_U256_TEXT_MAX];
    char price[CD_U256_TEXT_MAX];
    char text[2 * CD_U256_TEXT_MAX + 128];
    if (!tx->is_create) {
        (void)cd_addr_fmt(to, &tx->to);
    }
    (void)cd_u256_fmt_dec(value, &tx->value);
    (void)cd_u256_fmt_dec(price, &tx->fee_cap);
    (void)snprintf(text, sizeof text, "%s: %s wei + %llu gas \xc3\x97 %s wei", to, value,
                   (unsigned long long)tx->gas_limit, price);
    cd_json_w_cstr(w, text);
}

cd_err cd__txpool_content(cd_rpc_call *call)
{
    return write_pool(call, show_whole);
}

cd_err cd__txpool_inspect(cd_rpc_call *call)
{
    return write_pool(call, show_summary);
}

cd_err cd__txpool_content_from(cd_rpc_call *call)
{
    cd_json_w *w = call->out;
    cd_addr20 addr;
    cd_txpool_account a = {0};
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    (void)cd_txpool_account_of(cd_api_of(call)->pool, &a, &addr);
    cd_json_w_obj(w);
    cd_json_w_key(w, "pending");
    write_account(call, &a, 0, a.pending_cnt, show_whole);
    cd_json_w_key(w, "queued");
    write_account(call, &a, a.pending_cnt, a.cnt, show_whole);
    cd_json_w_obj_end(w);
    return CD_OK;
}

cd_err cd__txpool_status(cd_rpc_call *call)
{
    const cd_txpool *p = cd_api_of(call)->pool;
    usize pending = cd_txpool_pending_cnt(p);
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "pending");
    cd_json_w_qty(call->out, pending);
    cd_json_w_key(call->out, "queued");
    cd_json_w_qty(call->out, cd_txpool_cnt(p) - pending);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* --- why --- */

static const char *wait_name(cd_tx_wait wait)
{
    switch (wait) {
    case CD_WAIT_TURN:
        return "turn";
    case CD_WAIT_GAP:
        return "gap";
    case CD_WAIT_BEHIND:
        return "behind";
    case CD_WAIT_FUNDS:
        return "funds";
    case CD_WAIT_GAS_LIMIT:
        return "gasLimit";
    case CD_WAIT_BASE_FEE:
        return "baseFee";
    case CD_WAIT_LINE:
        return "line";
    }
    CD_UNREACHABLE();
}

cd_err cd__txpool_explain(cd_rpc_call *call)
{
    cd_json_w *w = call->out;
    cd_txpool *p = cd_api_of(call)->pool;
    cd_hash32 hash;
    cd_buf words = {0};
    CD_TRY(cd_rpc_read_hash(call, &hash, cd_rpc_arg(call, 0), 0));
    const cd_pool_tx *t = cd_txpool_get(p, &hash);
    if (t == NULL) {
        cd_json_w_null(w);
        return CD_OK;
    }
    cd_tx_wait wait = cd_txpool_explain(p, &words, t);
    cd_json_w_obj(w);
    cd_json_w_key(w, "waitsFor");
    cd_json_w_cstr(w, wait_name(wait));
    cd_json_w_key(w, "explanation");
    cd_json_w_str(w, cd_buf_bytes(&words));
    cd_json_w_obj_end(w);
    cd_buf_fini(&words);
    return CD_OK;
}

cd_err cd__debug_why_no_block(cd_rpc_call *call)
{
    cd_api *e = cd_api_of(call);
    cd_buf words = {0};
    u64 now = cd_clock_wall_s(e->service.cfg.clock);
    u64 time = cd_max_u64(now, cd_chain_head(e->chain)->header.time);
    cd_err err = cd_chain_why_no_block(e->chain, &words, e->pool, time);
    if (err == CD_OK) {
        cd_json_w_str(call->out, cd_buf_bytes(&words));
    }
    cd_buf_fini(&words);
    return err == CD_OK ? CD_OK : cd_api_store(call, err);
}

/* What waits of the accounts of this node; on a development network everything that waits. */
cd_err cd__eth_pending_txs(cd_rpc_call *call)
{
    const cd_api *e = cd_api_of(call);
    usize cnt;
    cd_txpool_account *all = cd_txpool_accounts(e->pool, &cnt, call->arena);
    cd_json_w_arr(call->out);
    for (usize i = 0; i < cnt; i++) {
        bool is_ours = e->is_dev || cd__keys_knows(e, &all[i].txs[0]->tx.sender);
        for (usize j = 0; is_ours && j < all[i].cnt; j++) {
            show_whole(call->out, &all[i].txs[j]->tx);
        }
    }
    cd_json_w_arr_end(call->out);
    return CD_OK;
}
