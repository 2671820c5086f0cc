/* Every instruction of a transaction, a page at a time: all of them are run, those of the page are kept. */
#include "base/num_text.h"
#include "chains/evmchain/tracers/replay.h"
#include "evm/interp/opcode.h"
#include "explorer/explorer_priv.h"
#include "num/u256_text.h"

enum { STEPS_PAGE = 250, STACK_SHOWN = 3, TIMEOUT_S = 5 };

typedef struct step {
    u64 pc;
    u64 gas;
    u64 cost;
    u32 depth;
    u8 op;
    bool fails;
    u8 stack_cnt;
    cd_u256 stack[STACK_SHOWN]; /* the top first */
} step;

typedef struct steps {
    cd_tracer hooks; /* first: the EVM is given its address */
    const cd_clock *clock;
    u64 deadline_ns;
    u64 from;
    u64 total;
    bool is_late;
    usize cnt;
    step v[STEPS_PAGE];
} steps;

static void on_step(cd_tracer *t, const cd_trace_step *s)
{
    steps *all = (steps *)(void *)t;
    if (all->total++ < all->from || all->cnt == STEPS_PAGE) {
        return;
    }
    step *one = &all->v[all->cnt++];
    *one = (step){.pc = s->pc, .gas = s->gas, .cost = s->cost, .depth = s->depth, .op = s->op, .fails = s->error != 0};
    while (one->stack_cnt < STACK_SHOWN && one->stack_cnt < s->stack_cnt) {
        one->stack[one->stack_cnt] = s->stack[s->stack_cnt - 1 - one->stack_cnt];
        one->stack_cnt++;
    }
}

static bool on_poll(cd_tracer *t)
{
    steps *all = (steps *)(void *)t;
    all->is_late = all->is_late || cd_clock_mono_ns(all->clock) > all->deadline_ns;
    return !all->is_late;
}

static cd_err run(cd__xp *p, steps *all, const cd_accepted *b, usize idx, cd_errinfo *why)
{
    cd_replay *r = NULL;
    cd_err e = cd_replay_new(&r, p->view, &b->block, why);
    e = e != CD_OK ? e : cd_replay_to(r, idx, why);
    e = e != CD_OK ? e : cd_replay_watch(r, &all->hooks, why);
    cd_replay_free(r);
    return e;
}

/* --- showing --- */

static const cd_ui_col cols[] = {
    {.name = "Step", .flags = CD_COL_NUM},
    {.name = "PC", .flags = CD_COL_NUM | CD_COL_P2},
    {.name = "Depth", .flags = CD_COL_NUM | CD_COL_P3},
    {.name = "Instruction"},
    {.name = "Gas left", .flags = CD_COL_NUM | CD_COL_P2},
    {.name = "Cost", .flags = CD_COL_NUM},
    {.name = "Top of the stack", .flags = CD_COL_P2},
};

/* Short words are shown whole. */
static void word(cd__xp *p, const cd_u256 *v)
{
    char text[CD_U256_TEXT_MAX];
    usize n = cd_u256_fmt_hex(text, v);
    if (n > 20) {
        cd_html_put(&p->h, "<span title=\"{}\">{}…{}</span> ", cd_bytes_of(text, n), cd_bytes_of(text, 10),
                    cd_bytes_of(text + n - 4, 4));
    } else {
        cd_html_put(&p->h, "{} ", cd_bytes_of(text, n));
    }
}

static void row(cd__xp *p, const step *s, u64 nr)
{
    cd_html *h = &p->h;
    cd_html_put(h, "<tr><td class=\"num mut\">{}</td>", nr);
    cd_ui_cell(h, &cols[1]);
    cd_html_put(h, "{}</td>", s->pc);
    cd_ui_cell(h, &cols[2]);
    cd_html_put(h, "{}</td><td>", s->depth);
    cd_ui_tag(h, cd_foreign_of(cd_bytes_str(cd_op_name(s->op))));
    if (s->fails) {
        cd_html_put(h, " ");
        cd_ui_pill(h, CD_PILL_BAD, cd_bytes_str("Fails"));
    }
    cd_html_put(h, "</td>");
    cd_ui_cell(h, &cols[4]);
    cd_html_put(h, "{}</td><td class=\"num\">{}</td>", cd_fmt_count(&p->a, s->gas), cd_fmt_count(&p->a, s->cost));
    cd_ui_cell(h, &cols[6]);
    cd_html_put(h, "<span class=\"mono\">");
    for (u8 i = 0; i < s->stack_cnt; i++) {
        word(p, &s->stack[i]);
    }
    cd_html_put(h, "</span></td></tr>");
}

static void pages(cd__xp *p, const steps *all)
{
    cd_bytes first = {0};
    cd_bytes next = {0};
    unsigned long long end = all->from + all->cnt;
    if (all->from != 0) {
        first = cd_bytes_str("?view=opcodes#trace");
    }
    if (end < all->total) {
        next = cd_bytes_str(cd_arena_fmt(&p->a, "?view=opcodes&at=%llu#trace", end));
    }
    cd_html_put(&p->h, "<footer><span>{} to {} of {}</span><nav class=\"pager\" aria-label=\"Pages\">",
                cd_fmt_count(&p->a, all->from), cd_fmt_count(&p->a, all->from + all->cnt),
                cd_fmt_count(&p->a, all->total));
    if (first.n != 0) {
        cd_html_put(&p->h, "<a class=\"btn s\" href=\"{}\">First</a>", first);
    }
    if (next.n != 0) {
        cd_html_put(&p->h, "<a class=\"btn s\" href=\"{}\">Next</a>", next);
    }
    cd_html_put(&p->h, "</nav></footer>");
}

void cd__steps_write(cd__xp *p, const cd_accepted *b, usize idx)
{
    steps *all = cd_arena_new(&p->a, steps);
    cd_errinfo why = {0};
    cd_bytes at = cd__xp_query(p, "at", CD_U64_TEXT_MAX);
    all->hooks.step = on_step;
    all->hooks.poll = on_poll;
    all->clock = p->x->cfg.clock;
    all->deadline_ns = cd_clock_mono_ns(all->clock) + TIMEOUT_S * CD_NS_PER_SEC;
    if (cd_u64_parse(&all->from, at) != CD_OK) {
        all->from = 0;
    }
    cd_err e = run(p, all, b, idx, &why);
    if (e != CD_OK || all->is_late) {
        cd__trace_missing(p, all->is_late ? "it takes longer than 5 s: debug_traceTransaction has "
                                            "all of it"
                                          : why.msg);
        return;
    }
    if (all->cnt == 0) {
        cd_ui_empty(&p->h, "No instructions",
                    all->total == 0 ? "Nothing was called that has code." : "The transaction ends before.",
                    (cd_markup){0});
        return;
    }
    cd_ui_table_begin(&p->h, "Instructions", cols, CD_COUNT(cols), NULL, NULL);
    for (usize i = 0; i < all->cnt; i++) {
        row(p, &all->v[i], all->from + i);
    }
    cd_ui_table_end(&p->h);
    pages(p, all);
}
