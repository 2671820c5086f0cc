/* Finds where a token keeps a balance or an allowance, and sets it. [spec:dev-rpc#3.3] */
#include "chains/evmchain/dev/dev_priv.h"
#include "chains/evmchain/rpc/calls/trial.h"
#include "codec/abi.h"

enum { SLOTS_MAX = 64, GAS = 10000000, SLOAD = 0x54, NO_PARAM = 99, WORD = 32 };

typedef struct place {
    cd_addr20 addr;
    cd_u256 slot;
} place;

/* Notes every slot that a call reads. */
typedef struct spy {
    cd_tracer tracer; /* first */
    place places[SLOTS_MAX];
    usize cnt;
} spy;

static void on_step(cd_tracer *t, const cd_trace_step *s)
{
    spy *x = (spy *)(void *)t;
    if (s->op == SLOAD && s->stack_cnt != 0 && x->cnt < SLOTS_MAX) {
        x->places[x->cnt++] = (place){.addr = s->self, .slot = s->stack[s->stack_cnt - 1]};
    }
}

/* Calls the token, pretending that a slot (NULL: none) holds n; false when it does not answer with a word. */
static cd_err ask(cd_trial *t, bool *answered, cd_u256 *out, const cd_tx *tx, const place *at, const cd_u256 *n)
{
    static const cd_tx_relax relax = {.nonce = true, .sender = true, .base_fee = true, .balance = true};
    cd_fork fork = cd_chain_rules_fork(t->rules, t->env.number, t->env.time);
    cd_tx_result res;
    u64 gas_pool = UINT64_MAX;
    CD_TRY(cd_trial_reset(t));
    if (at != NULL) {
        cd_state_begin_tx(t->st);
        cd_acct *a = cd_state_acct(t->st, &at->addr);
        cd_state_set_slot(t->st, cd_state_slot(t->st, a, &at->slot), n);
        cd_state_end_tx(t->st, false);
    }
    cd_evm_set_block(t->evm, fork, t->rules->profile, &t->env, t->st,
                     cd_chain_rules_table(t->rules, t->env.number, t->env.time));
    cd_tx_invalid bad = cd_tx_apply(t->evm, &res, &gas_pool, tx, &relax);
    *answered = bad == CD_TX_VALID && res.status == CD_EVM_OK && res.output.n >= WORD;
    if (*answered) {
        cd_u256_load_be(out, res.output.p);
    }
    cd_err e = cd_state_error(t->st);
    return e == CD_OK ? CD_OK : cd_api_store(t->call, e);
}

typedef struct setting {
    place at;
    cd_u256 n;
} setting;

static cd_err set_slot(void *ctx, cd_state *st, cd_errinfo *why)
{
    const setting *s = ctx;
    (void)why;
    cd_acct *a = cd_state_acct(st, &s->at.addr);
    cd_state_set_slot(st, cd_state_slot(st, a, &s->at.slot), &s->n);
    return CD_OK;
}

/* Finds the storage slot by which the token answers data with n, and sets it. */
static cd_err deal(cd_rpc_call *call, const cd_addr20 *token, cd_bytes data, const cd_u256 *n, const char *of_what)
{
    cd_trial_args args = {.block = NO_PARAM, .state = NO_PARAM, .env = NO_PARAM};
    cd_trial *t;
    spy x = {.tracer = {.step = on_step}};
    cd_tx tx = {.to = *token, .data = data, .gas_limit = GAS, .has_sender = true};
    cd_u256 answer;
    bool answered;
    bool is_found = false;
    setting s = {.n = *n};
    CD_TRY(cd_trial_open(&t, call, &args));
    cd_evm_set_tracer(t->evm, &x.tracer);
    cd_err e = ask(t, &answered, &answer, &tx, NULL, NULL);
    cd_evm_set_tracer(t->evm, NULL);
    for (usize i = 0; i < x.cnt && e == CD_OK && !is_found; i++) {
        e = ask(t, &answered, &answer, &tx, &x.places[i], n);
        is_found = e == CD_OK && answered && cd_u256_eq(&answer, n);
        s.at = x.places[i];
    }
    cd_trial_close(t);
    CD_TRY(e);
    if (!is_found) {
        return cd_rpc_fail(call, CD_RPC_INTERNAL, "Unable to set ERC20 %s, no slot found", of_what);
    }
    CD_TRY(cd__dev_edit(call, set_slot, &s));
    cd_json_w_null(call->out);
    return CD_OK;
}

/* Appends an address as an argument. */
static void put_addr(cd_buf *data, const cd_addr20 *addr)
{
    cd_buf_fill(data, 0, WORD - sizeof addr->b);
    cd_buf_put(data, cd_bytes_of(addr->b, sizeof addr->b));
}

cd_err cd__dev_deal_erc20(cd_rpc_call *call)
{
    cd_addr20 owner;
    cd_addr20 token;
    cd_u256 n;
    cd_buf data = {0};
    CD_TRY(cd_rpc_read_addr(call, &owner, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd_rpc_read_addr(call, &token, cd_rpc_arg(call, 1), 1));
    CD_TRY(cd__dev_n(call, &n, 2));
    cd_abi_selector(cd_buf_extend(&data, 4), "balanceOf(address)");
    put_addr(&data, &owner);
    cd_err e = deal(call, &token, cd_buf_bytes(&data), &n, "balance");
    cd_buf_fini(&data);
    return e;
}

cd_err cd__dev_deal_allowance(cd_rpc_call *call)
{
    cd_addr20 owner;
    cd_addr20 spender;
    cd_addr20 token;
    cd_u256 n;
    cd_buf data = {0};
    CD_TRY(cd_rpc_read_addr(call, &owner, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd_rpc_read_addr(call, &spender, cd_rpc_arg(call, 1), 1));
    CD_TRY(cd_rpc_read_addr(call, &token, cd_rpc_arg(call, 2), 2));
    CD_TRY(cd__dev_n(call, &n, 3));
    cd_abi_selector(cd_buf_extend(&data, 4), "allowance(address,address)");
    put_addr(&data, &owner);
    put_addr(&data, &spender);
    cd_err e = deal(call, &token, cd_buf_bytes(&data), &n, "allowance");
    cd_buf_fini(&data);
    return e;
}
