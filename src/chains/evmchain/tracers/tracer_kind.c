/* The registry of tracers, the options of a request, and one transaction run under a tracer. */
#include "chains/evmchain/tracers/tracer_kind.h"

#include "base/num_text.h"
#include "chains/evmchain/tracers/kinds_priv.h"
#include "evm/interp/opcode.h"

#include <stdio.h>

static const cd_tracer_kind *const kinds[] = {
    &cd__tracer_call, &cd__tracer_call_flat, &cd__tracer_prestate, &cd__tracer_4byte,  &cd__tracer_mux,
    &cd__tracer_noop, &cd__tracer_opcount,   &cd__tracer_unigram,  &cd__tracer_bigram, &cd__tracer_trigram,
};

/* --- making --- */

static bool is_identifier(const char *s)
{
    usize n = 0;
    for (; s[n] != '\0'; n++) {
        char c = s[n];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
        if (!is_letter && (n == 0 || c < '0' || c > '9')) {
            return false;
        }
    }
    return n != 0;
}

cd_err cd_tracer_make(cd_txtracer **out, const char *name, cd_json cfg, cd_errinfo *why)
{
    cd_json_kind k = cd_json_kind_of(cfg);
    if (k != CD_JSON_NONE && k != CD_JSON_NULL && k != CD_JSON_OBJ) {
        return cd_json_fail(cfg, CD_ETYPE, "not an object", why);
    }
    if (name == NULL) {
        return cd__tracer_struct_log.make(out, cfg, why);
    }
    for (usize i = 0; i < CD_COUNT(kinds); i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            return kinds[i]->make(out, cfg, why);
        }
    }
    if (is_identifier(name)) {
        /* What go-ethereum's evaluation of the name as a program says. */
        return cd_fail(why, CD_ENOENT, "ReferenceError: %s is not defined at <eval>:1:2(0)", name);
    }
    return cd_fail(why, CD_EUNSUPPORTED,
                   "JavaScript tracers are not supported: name a built-in one (callTracer, "
                   "flatCallTracer, prestateTracer, 4byteTracer, muxTracer, noopTracer)");
}

void cd_tracer_free(cd_txtracer *t)
{
    if (t != NULL) {
        t->kind->free(t);
    }
}

void cd_tracer_begin(cd_txtracer *t, const cd_trace_tx *tx, cd_trace_budget *budget)
{
    t->tx = tx;
    t->budget = budget;
    if (t->kind->begin != NULL) {
        t->kind->begin(t);
    }
}

void cd_tracer_end(cd_txtracer *t, const cd_tx_result *res)
{
    if (t->kind->end != NULL) {
        t->kind->end(t, res);
    }
}

bool cd_tracer_take(cd_txtracer *t, usize n)
{
    cd_trace_budget *b = t->budget;
    if (b->used > b->max || n > b->max - b->used) {
        b->is_spent = true;
        t->hooks.stop = true;
        return false;
    }
    b->used += n;
    return true;
}

/* --- options --- */

cd_err cd__trace_flag(bool *out, cd_json cfg, const char *key, cd_errinfo *why)
{
    cd_json v = cd_json_get(cfg, key);
    return cd_json_has(v) ? cd_json_bool(out, v, why) : CD_OK;
}

cd_err cd_trace_duration(u64 *ns, cd_bytes text, cd_errinfo *why)
{
    bool has_sign = text.n != 0 && (text.p[0] == '-' || text.p[0] == '+');
    cd_bytes rest = has_sign ? cd_bytes_sub(text, 1, text.n - 1) : text;
    u64 n;
    if (cd_duration_parse(&n, rest) != CD_OK) {
        return cd_fail(why, CD_EFORMAT, "time: invalid duration \"%.*s\"", (int)cd_min_u64(text.n, 100),
                       text.n == 0 ? "" : (const char *)text.p);
    }
    *ns = text.p[0] == '-' ? 0 : n;
    return CD_OK;
}

cd_err cd_trace_opts_read(cd_trace_opts *out, cd_arena *a, cd_json v, cd_errinfo *why)
{
    cd_trace_opts o = {.timeout_ns = CD_TRACE_TIMEOUT_NS, .cfg = v};
    cd_json tracer = cd_json_get(v, "tracer");
    cd_json timeout = cd_json_get(v, "timeout");
    cd_bytes text;
    if (cd_json_has(v)) {
        CD_TRY(cd_json_obj(v, why));
    }
    if (cd_json_has(tracer)) {
        CD_TRY(cd_json_str(&text, tracer, why));
        o.tracer = cd_arena_str(a, text);
        o.cfg = cd_json_get(v, "tracerConfig");
    }
    if (cd_json_has(timeout)) {
        CD_TRY(cd_json_str(&text, timeout, why));
        CD_TRY(cd_trace_duration(&o.timeout_ns, text, why));
    }
    *out = o;
    return CD_OK;
}

/* --- running --- */

static bool is_late(cd_trace_budget *b)
{
    b->is_late = b->is_late || cd_clock_mono_ns(b->clock) >= b->deadline_ns;
    return b->is_late;
}

static bool on_poll(cd_tracer *t)
{
    return !is_late(((cd_txtracer *)(void *)t)->budget);
}

static cd_err fail_size(const cd_trace_budget *budget, cd_errinfo *why)
{
    return cd_fail(why, CD_ELIMIT,
                   "trace is larger than %zu MiB: leave out memory or stack, set a limit, or "
                   "use another tracer",
                   budget->max >> 20);
}

/* run_tx applies the transaction with the tracer watching. */
static cd_err run_tx(cd_txtracer *t, cd_evm *evm, u64 *gas_pool, const cd_trace_tx *tx, const cd_tx_relax *relax,
                     cd_trace_budget *budget, cd_errinfo *why)
{
    cd_tx_result res;
    t->hooks.poll = on_poll;
    cd_tracer_begin(t, tx, budget);
    cd_evm_set_tracer(evm, &t->hooks);
    cd_tx_invalid bad = cd_tx_apply(evm, &res, gas_pool, tx->tx, relax);
    cd_evm_set_tracer(evm, NULL);
    cd_err e = cd_state_error(tx->st);
    if (e != CD_OK) {
        return cd_fail(why, e, "state: %s", cd_err_str(e));
    }
    if (bad != CD_TX_VALID) {
        return cd_fail(why, CD_EINVAL, "tracing failed: %s", cd_tx_invalid_str(bad));
    }
    if (budget->is_spent) {
        return fail_size(budget, why);
    }
    if (is_late(budget)) {
        return cd_fail(why, CD_ETIMEOUT, "execution timeout");
    }
    cd_tracer_end(t, &res);
    return CD_OK;
}

cd_err cd_trace_run(cd_json_w *out, cd_evm *evm, u64 *gas_pool, const cd_trace_tx *tx, const cd_tx_relax *relax,
                    const cd_trace_opts *opts, const cd_clock *clock, cd_errinfo *why)
{
    cd_txtracer *t;
    CD_TRY(cd_tracer_make(&t, opts->tracer, opts->cfg, why));
    cd_trace_budget budget = {
        .clock = clock,
        .used = out->out->n,
        .max = opts->bytes_max == 0 ? CD_TRACE_BYTES_MAX : opts->bytes_max,
    };
    if (!cd_add_u64(&budget.deadline_ns, cd_clock_mono_ns(clock), opts->timeout_ns)) {
        budget.deadline_ns = UINT64_MAX;
    }
    cd_err e = run_tx(t, evm, gas_pool, tx, relax, &budget, why);
    if (e == CD_OK) {
        t->kind->result(t, out);
        e = out->out->n > budget.max ? fail_size(&budget, why) : CD_OK;
    }
    cd_tracer_free(t);
    return e;
}

/* --- what the tracers share --- */

const char *cd__trace_op_name(char *out, u8 op)
{
    enum { NAME_MAX_LEN = 24 };
    if (op == CD_OP_PREVRANDAO) {
        return "DIFFICULTY"; /* never renamed there */
    }
    if (cd_op_info_get(op)->name != NULL || op == 0xfe) {
        return cd_op_name(op);
    }
    (void)snprintf(out, NAME_MAX_LEN, "opcode 0x%x not defined", op);
    return out;
}
