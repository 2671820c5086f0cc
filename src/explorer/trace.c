#include "chains/evmchain/tracers/replay.h"
#include "explorer/explorer_priv.h"
#include "web/chart.h"

enum {
    CALLS_MAX = 300,  /* calls of one page */
    DEPTH_MAX = 24,   /* calls nested deeper are not in the graph */
    STACK_MAX = 1100, /* calls nest at most 1025 deep */
    DATA_SHOWN = 36,  /* bytes of input and output of an unknown call */
    TIMEOUT_S = 5,
    CALL_GAS = 500000, /* gas for a question to a contract (a token's name) */
};

#define WITH_LOGS "{\"withLog\":true}"

/* Runs the next transaction, or a call, under a tracer. */
static cd_json run(cd__xp *p, cd_replay *r, const cd_tx *call, const char *tracer, const char *cfg, cd_errinfo *why)
{
    cd_buf out = {0};
    cd_json_w w = {.out = &out};
    cd_json result = {0};
    cd_trace_opts opts = {.tracer = tracer, .timeout_ns = TIMEOUT_S * CD_NS_PER_SEC};
    cd_err e = cd_json_parse(&opts.cfg, &p->a, cd_bytes_str(cfg), 0, why);
    if (e == CD_OK && call != NULL) {
        static const cd_tx_relax free_call = {.nonce = true, .sender = true, .base_fee = true, .balance = true};
        e = cd_replay_call(r, &w, call, NULL, &free_call, &opts, p->x->cfg.clock, why);
    } else if (e == CD_OK) {
        e = cd_replay_trace(r, &w, &opts, p->x->cfg.clock, why);
    }
    if (e == CD_OK) {
        e = cd_json_parse(&result, &p->a, cd_arena_dup(&p->a, cd_buf_bytes(&out)), 0, why);
    }
    cd_buf_fini(&out);
    return e == CD_OK ? result : (cd_json){0};
}

cd_json cd__trace_tx(cd__xp *p, const cd_accepted *b, usize idx, const char *tracer, const char *cfg, cd_errinfo *why)
{
    cd_replay *r = NULL;
    cd_json out = {0};
    if (cd_replay_new(&r, p->view, &b->block, why) == CD_OK && cd_replay_to(r, idx, why) == CD_OK) {
        out = run(p, r, NULL, tracer, cfg, why);
    }
    cd_replay_free(r);
    return out;
}

cd_json cd__trace_run(cd__xp *p, const cd_accepted *b, usize idx, cd_errinfo *why)
{
    return cd__trace_tx(p, b, idx, "callTracer", WITH_LOGS, why);
}

void cd__trace_missing(cd__xp *p, const char *why)
{
    cd_buf text = {0};
    cd_html note = {.out = &text};
    cd_html_put(&note, "{}", cd_foreign_of(cd_bytes_str(why)));
    cd_html_put(&p->h, "<div class=\"body\">");
    cd_ui_note(&p->h, CD_NOTE_INFO, "No trace", cd_markup_of(&note));
    cd_html_put(&p->h, "</div>");
    cd_buf_fini(&text);
}

static bool bytes_at(cd__xp *p, cd_bytes *out, cd_json v, const char *key)
{
    return cd_json_has(cd_json_get(v, key)) && cd_json_hex(out, &p->a, cd_json_get(v, key), NULL) == CD_OK;
}

cd_json cd__call(cd__xp *p, const cd_accepted *b, const cd_tx *call, cd_errinfo *why)
{
    cd_replay *r = NULL;
    cd_json trace = {0};
    if (cd_replay_behind(&r, p->view, &b->block, why) == CD_OK) {
        trace = run(p, r, call, "callTracer", WITH_LOGS, why);
    }
    cd_replay_free(r);
    return trace;
}

cd_bytes cd__call_output(cd__xp *p, cd_json call)
{
    cd_bytes out = {0};
    (void)bytes_at(p, &out, call, "output");
    return out;
}

bool cd__call_static(cd__xp *p, cd_bytes *out, const cd_accepted *b, const cd_addr20 *to, cd_bytes data)
{
    cd_errinfo why = {0};
    const cd_tx call = {.is_protected = true,
                        .chain_id = cd_view_rules(p->view)->chain_id,
                        .gas_limit = CALL_GAS,
                        .to = *to,
                        .data = data,
                        .has_sender = true};
    cd_json trace = cd__call(p, b, &call, &why);
    return cd_json_kind_of(trace) == CD_JSON_OBJ && !cd_json_has(cd_json_get(trace, "error")) &&
           bytes_at(p, out, trace, "output");
}

cd_bytes cd__trace_text(cd_json call, const char *key)
{
    cd_bytes t;
    return cd_json_str(&t, cd_json_get(call, key), NULL) == CD_OK ? t : (cd_bytes){0};
}

u64 cd__trace_gas(cd_json call, const char *key)
{
    u64 gas;
    return cd_json_qty_u64(&gas, cd_json_get(call, key), NULL) == CD_OK ? gas : 0;
}

cd__reason cd__trace_reason(cd__xp *p, cd_json trace)
{
    cd__reason r = {.text = cd__trace_text(trace, "error")};
    if (r.text.n != 0) {
        cd__reason words = cd__revert_reason(p, cd__call_output(p, trace));
        r = words.text.n != 0 ? words : r;
    }
    return r;
}

/* --- the calls, from the outermost on --- */

typedef struct call {
    cd_json v;
    u32 depth;
    u32 begin; /* millionths of the width, in the flame graph */
    u32 size;
} call;

typedef struct calls {
    call *v;
    usize first; /* number of v[0] */
    usize cnt;
    usize total;
    u32 deepest;
} calls;

/* A walk without recursion: a stack of iterators over "calls". */
static void collect(cd__xp *p, calls *out, cd_json root)
{
    struct {
        cd_json_it it;
        u32 next; /* where the next child begins */
    } *stack = cd_arena_alloc(&p->a, STACK_MAX * sizeof *stack);
    usize depth = 0;
    u64 all = cd_max_u64(cd__trace_gas(root, "gasUsed"), 1);
    out->v = cd_arena_array(&p->a, call, CALLS_MAX);
    if (out->first == 0) {
        out->v[out->cnt++] = (call){.v = root, .size = 1000000};
    }
    out->total = 1;
    stack[depth++].it = cd_json_iter(cd_json_get(root, "calls"));
    stack[0].next = 0;
    while (depth != 0) {
        if (!cd_json_next(&stack[depth - 1].it)) {
            depth--;
            continue;
        }
        cd_json v = stack[depth - 1].it.val;
        u32 size = (u32)cd_min_u64((u64)((u128)cd__trace_gas(v, "gasUsed") * 1000000 / all),
                                   1000000 - cd_min_u64(stack[depth - 1].next, 1000000));
        u32 begin = stack[depth - 1].next;
        stack[depth - 1].next += size;
        out->deepest = depth > out->deepest ? (u32)depth : out->deepest;
        if (out->total++ >= out->first && out->cnt < CALLS_MAX) {
            out->v[out->cnt++] = (call){.v = v, .depth = (u32)depth, .begin = begin, .size = size};
        }
        if (depth < STACK_MAX) {
            stack[depth].it = cd_json_iter(cd_json_get(v, "calls"));
            stack[depth].next = begin;
            depth++;
        }
    }
}

static const cd__known *known_of(cd__xp *p, cd_json v, cd_bytes *input)
{
    if (!bytes_at(p, input, v, "input")) {
        *input = (cd_bytes){0};
    }
    cd_bytes type = cd__trace_text(v, "type");
    bool is_create = type.n >= 6 && memcmp(type.p, "CREATE", 6) == 0;
    return is_create ? NULL : cd__known_call(p->x, *input);
}

static cd_bytes label_of(cd__xp *p, const call *c)
{
    cd_bytes input;
    const cd__known *k = known_of(p, c->v, &input);
    cd_bytes type = cd__trace_text(c->v, "type");
    if (k != NULL) {
        return k->name;
    }
    return input.n >= 4 ? cd__xp_hex(p, cd_bytes_sub(input, 0, 4)) : type;
}

static void flame(cd__xp *p, const calls *all)
{
    cd_flame *bars = cd_arena_array(&p->a, cd_flame, all->cnt);
    usize cnt = 0;
    for (usize i = 0; i < all->cnt; i++) {
        const call *c = &all->v[i];
        if (c->depth > DEPTH_MAX) {
            continue;
        }
        bars[cnt++] = (cd_flame){
            .depth = c->depth,
            .begin = c->begin,
            .size = c->size,
            .label = cd_foreign_flat_of(label_of(p, c)),
            .is_bad = cd_json_has(cd_json_get(c->v, "error")),
        };
    }
    if (cnt == 0) {
        return;
    }
    cd_html_put(&p->h, "<div class=\"flamebox body\">");
    cd_chart_flame(&p->h, bars, cnt, "Gas of each call within its caller");
    cd_html_put(&p->h, "</div>");
}

static void cut_hex(cd__xp *p, cd_bytes b)
{
    cd_html_put(&p->h, "{}{}", cd__xp_hex(p, cd_bytes_sub(b, 0, b.n < DATA_SHOWN ? b.n : DATA_SHOWN)),
                b.n > DATA_SHOWN ? "…" : "");
}

static void row(cd__xp *p, const call *c)
{
    cd_html *h = &p->h;
    cd_bytes input;
    cd_bytes output = {0};
    cd_addr20 to;
    const cd__known *k = known_of(p, c->v, &input);
    cd_html_put(h, "<li><span class=\"tagcell\">");
    cd_ui_tag(h, cd_foreign_of(cd__trace_text(c->v, "type")));
    if (c->depth == 0) {
        cd_html_put(h, "</span><span class=\"call\">");
    } else {
        cd_html_put(h, "</span><span class=\"call in i{}\">", c->depth < 6 ? c->depth : 6u);
    }
    if (cd_json_fixed(to.b, 20, cd_json_get(c->v, "to"), NULL) == CD_OK) {
        cd__xp_addr(p, &to, 0);
        cd_html_put(h, ".");
    }
    cd_html_put(h, "<b>{}</b>(",
                k != NULL      ? k->name
                : input.n >= 4 ? cd__xp_hex(p, cd_bytes_sub(input, 0, 4))
                               : cd_bytes_str(""));
    cd_bytes args = input.n > 4 ? cd_bytes_sub(input, 4, input.n - 4) : (cd_bytes){0};
    if (k == NULL || !cd__known_inline(p, k, args)) {
        cut_hex(p, args);
    }
    cd_html_put(h, ")");
    cd__reason reason = cd__trace_reason(p, c->v);
    if (reason.text.n != 0) {
        cd_html_put(h, " <span class=\"why\">failed: ");
        cd__reason_write(p, &reason);
        cd_html_put(h, "</span>");
    } else if (bytes_at(p, &output, c->v, "output") && output.n != 0) {
        cd_html_put(h, " <span class=\"ret\">→ ");
        if (k == NULL || !cd__known_returned(p, k, output)) {
            cut_hex(p, output);
        }
        cd_html_put(h, "</span>");
    }
    cd_html_put(h, "</span><span class=\"num mut\">{}</span></li>",
                cd_fmt_count(&p->a, cd__trace_gas(c->v, "gasUsed")));
}

void cd__trace_write(cd__xp *p, cd_json trace)
{
    calls all = {.first = cd__xp_from(p, "calls", SIZE_MAX)};
    collect(p, &all, trace);
    if (all.cnt == 0) { /* it ends before */
        all = (calls){.first = 0};
        collect(p, &all, trace);
    }
    flame(p, &all);
    cd_html_put(&p->h, "<ol class=\"tree\">");
    for (usize i = 0; i < all.cnt; i++) {
        row(p, &all.v[i]);
    }
    cd_html_put(&p->h, "</ol>");
    if (all.total > CALLS_MAX) {
        const char *more = cd_arena_fmt(&p->a, " calls, depth %u", all.deepest);
        cd__xp_pages(p, "calls", "trace", all.first, all.first + all.cnt, all.total, more);
    } else {
        cd_html_put(&p->h, "<footer><span>{} {}, depth {}</span></footer>", cd_fmt_count(&p->a, all.total),
                    all.total == 1 ? "call" : "calls", all.deepest);
    }
}
