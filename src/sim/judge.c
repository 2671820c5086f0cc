#include "base/mem/mem.h"
#include "crypto/hash/sha2.h"
#include "sim/sim_priv.h"

#include <stdio.h>

/* After this time (µs) every question has been answered or given up, twice over. */
#define QUIET_MIN_US (10 * (u64)CD_SIM_MILLION)

void cd__world_violation(world *w, u32 node, const char *text)
{
    cd_sim_result *r = &w->result;
    r->violations++;
    if (r->told_cnt < CD_SIM_TOLD_MAX) {
        cd_sim_violation *v = &r->told[r->told_cnt++];
        v->at_us = w->now_us;
        v->node = node;
        (void)snprintf(v->text, sizeof v->text, "%s", text);
    }
    if (node == UINT32_MAX) {
        cd_sim_trace_put(w->cfg.trace, '!', w->now_us, "- %s", text);
    } else {
        cd_sim_trace_put(w->cfg.trace, '!', w->now_us, "%u %s", node, text);
    }
}

/* --- a node --- */

static const char *look_at_bounds(const sim_node *n, const cd_snowman_load *load)
{
    bool is_too_much = load->pending > CD_SNOWMAN_PENDING_MAX || load->fetches > CD_SNOWMAN_FETCHES_MAX ||
                       load->polls > CD_SNOWMAN_POLLS_MAX || load->pending_bytes > CD_SNOWMAN_PENDING_BYTES ||
                       load->waiting > (usize)CD_SNOWMAN_POLLS_MAX * n->w->cfg.params.k;
    return is_too_much ? "peers make a node keep more than its bounds" : NULL;
}

void cd__world_judge_node(sim_node *n, bool is_stirred)
{
    if (n->is_liar || n->broken != NULL) {
        return;
    }
    cd_snowman_load load = cd_snowman_load_get(n->engine);
    const char *broken = is_stirred ? cd_sim_audit_check(&n->audit) : NULL;
    broken = broken != NULL ? broken : look_at_bounds(n, &load);
    if (broken == NULL && load.is_halted) {
        broken = "a node's chain stands still though its disk is good";
    }
    if (broken == NULL && load.undecided != n->audit.undecided_cnt) {
        broken = "the VM holds other undecided blocks than the engine";
    }
    n->broken = broken;
}

/* --- what was accepted --- */

static void digest(world *w, const sim_node *n, const fresh *f)
{
    cd_sha256_ctx c;
    u8 be[20];
    cd_put_be32(be, n->no);
    cd_put_be64(be + 4, f->height);
    cd_put_be64(be + 12, f->at_us);
    cd_sha256_init(&c);
    cd_sha256_update(&c, cd_bytes_of(w->digest.b, 32));
    cd_sha256_update(&c, cd_bytes_of(be, sizeof be));
    cd_sha256_update(&c, cd_bytes_of(f->id.b, 32));
    cd_sha256_final(&c, &w->digest);
}

static void new_height(world *w, const fresh *f)
{
    const u64 *born = cd_hmap_get(&w->born, &f->id);
    if (w->chain_cnt == w->chain_cap) {
        w->chain_cap = w->chain_cap == 0 ? 1024 : w->chain_cap * 2;
        w->chain = cd_realloc(w->chain, w->chain_cap * sizeof *w->chain);
    }
    w->chain[w->chain_cnt++] = (agreed){.id = f->id, .born_us = born == NULL ? f->at_us : *born, .first_us = f->at_us};
    if (w->whole_since_us != UINT64_MAX) {
        u64 from = cd_max_u64(w->last_block_us, w->whole_since_us);
        u64 wait = f->at_us > from ? f->at_us - from : 0;
        w->result.wait_max_us = cd_max_u64(w->result.wait_max_us, wait);
    }
    w->last_block_us = f->at_us;
    if (cd_hmap_cnt(&w->born) > 100000) {
        cd_hmap_clear(&w->born); /* blocks that were never accepted fill it */
    }
}

static void sample(world *w, const agreed *a, const fresh *f)
{
    u64 us = f->at_us > a->born_us ? f->at_us - a->born_us : 0;
    w->hist[cd_min_u64(us / 1000, HIST_MS - 1)]++;
    w->hist_cnt++;
    w->hist_max_us = cd_max_u64(w->hist_max_us, us);
}

static void judge_fresh(world *w, const sim_node *n, const fresh *f)
{
    if (f->height == w->chain_cnt) {
        new_height(w, f);
    }
    digest(w, n, f);
    if (f->height >= w->chain_cnt || !cd_hash32_eq(&w->chain[f->height].id, &f->id)) {
        cd__world_violation(w, n->no, "two different blocks are accepted at one height");
        return;
    }
    sample(w, &w->chain[f->height], f);
}

void cd__world_judge_news(world *w, sim_node *n)
{
    for (u32 i = 0; i < n->built_cnt; i++) {
        *(u64 *)cd_hmap_put(&w->born, NULL, &n->built[i].id) = n->built[i].at_us;
    }
    n->built_cnt = 0;
    for (u32 i = 0; i < n->fresh_cnt && !n->is_liar; i++) {
        judge_fresh(w, n, &n->fresh[i]);
    }
    n->fresh_cnt = 0;
    if (n->broken != NULL) {
        if (!n->is_told) {
            cd__world_violation(w, n->no, n->broken);
        }
        n->is_told = true;
    }
    n->shown = n->is_up ? n->audit.preferred : n->shown;
}

/* --- progress --- */

/* Whether the nodes that are up have enough of the stake for a quorum. */
static bool has_quorum(const world *w)
{
    u64 up = 0;
    u64 total = 0;
    for (u32 i = 0; i < w->cfg.nodes; i++) {
        const cd_sim_signer *n = &w->stake.nodes[i];
        total += n->weight;
        up += w->nodes[i].is_up && n->unpaid == 0 ? n->weight : 0;
    }
    return total != 0 && (u128)up * w->cfg.params.k >= (u128)total * w->cfg.params.alpha_confidence;
}

static bool is_calm(const world *w)
{
    if (w->disturbed != 0 || !has_quorum(w)) {
        return false;
    }
    for (u32 i = 0; i < w->cfg.nodes; i++) {
        if (!w->nodes[i].is_up) {
            return false;
        }
    }
    return true;
}

static void judge_chain(world *w, u64 bound)
{
    u64 from = cd_max_u64(w->last_block_us, w->whole_since_us);
    u64 wait = w->now_us > from ? w->now_us - from : 0;
    w->result.wait_max_us = cd_max_u64(w->result.wait_max_us, wait);
    if (wait > bound) {
        cd__world_violation(w, UINT32_MAX, "the network is whole, and the chain does not go on");
        w->last_block_us = w->now_us; /* so that it is told once in each bound_us */
    }
}

static void judge_node_progress(world *w, const sim_node *n, u64 bound)
{
    u64 next = n->audit.last_height + 1;
    if (n->is_liar || next >= w->chain_cnt) {
        return;
    }
    u64 from = cd_max_u64(w->chain[next].first_us, w->whole_since_us);
    if (w->now_us > from + bound && !n->is_told) {
        cd__world_violation(w, n->no, "the network is whole, and a node stays behind");
        w->nodes[n->no].is_told = true;
    }
}

static void since(u64 *us, u64 now_us, bool holds)
{
    *us = !holds ? UINT64_MAX : *us == UINT64_MAX ? now_us : *us;
}

void cd__world_judge_time(world *w)
{
    bool calm = is_calm(w);
    since(&w->calm_since_us, w->now_us, calm);
    since(&w->whole_since_us, w->now_us, calm && w->quiet == 0);
    if (w->whole_since_us == UINT64_MAX) {
        return;
    }
    judge_chain(w, w->cfg.bound_us);
    for (u32 i = 0; i < w->cfg.nodes; i++) {
        judge_node_progress(w, &w->nodes[i], w->cfg.bound_us);
    }
}

/* --- the end --- */

/* When all was well for long enough, and no transaction came and no liar lied, nothing may be left to do. */
static void judge_quiet(world *w)
{
    u64 quiet_from = w->cfg.duration_us - cd_min_u64(w->cfg.quiet_us, w->cfg.duration_us);
    if (w->cfg.quiet_us < QUIET_MIN_US || w->calm_since_us > quiet_from || w->lying != 0) {
        return;
    }
    for (u32 i = 0; i < w->cfg.nodes; i++) {
        const sim_node *n = &w->nodes[i];
        cd_snowman_load load = cd_snowman_load_get(n->engine);
        if (n->is_liar) {
            continue;
        }
        if (n->audit.last_height + 1 != w->chain_cnt) {
            cd__world_violation(w, i, "a node stands at another height when all is quiet");
        } else if (load.undecided != 0 || load.polls > 0 || load.pending != 0 || load.fetches != 0 ||
                   load.waiting != 0) {
            cd__world_violation(w, i, "something is left undone when all is quiet");
        } else if (cd_sim_chain_waiting(n->chain) != 0) {
            cd__world_violation(w, i, "a transaction still waits when all is quiet");
        }
    }
}

static u64 percentile(const world *w, u64 of_hundred)
{
    u64 want = (w->hist_cnt * of_hundred + 99) / 100;
    u64 seen = 0;
    for (u64 ms = 0; ms < HIST_MS - 1; ms++) {
        seen += w->hist[ms];
        if (seen >= want) {
            return ms * 1000;
        }
    }
    return w->hist_max_us;
}

static void add_stats(cd_sim_result *r, const sim_node *n)
{
    const node_stats *s = &n->stats;
    r->messages += s->messages;
    r->bytes += s->bytes;
    r->lost += s->lost;
    r->doubled += s->doubled;
    r->dropped += s->dropped;
    r->events += s->events;
    if (!n->is_liar) {
        r->queries += s->queries;
        r->votes += s->votes;
        r->asides += s->asides;
        r->failures += s->failures;
        r->refused += s->refused;
        r->rejected += s->rejected;
    }
}

static void missing(world *w, const char *what, u64 is, u64 want)
{
    char text[120];
    (void)snprintf(text, sizeof text, "expected: %s %llu; it was %llu", what, (unsigned long long)want,
                   (unsigned long long)is);
    cd__world_violation(w, UINT32_MAX, text);
    w->result.violations--;
    w->result.missing++;
}

/* Blocks that were accepted first in a time; the first block of all was there before. */
static u64 accepted_between(const world *w, u64 from_us, u64 until_us)
{
    u64 n = 0;
    for (u64 i = 1; i < w->chain_cnt; i++) {
        n += w->chain[i].first_us >= from_us && w->chain[i].first_us < until_us ? 1 : 0;
    }
    return n;
}

static void judge_spans(world *w)
{
    const cd_sim_expect *e = &w->cfg.expect;
    for (u32 i = 0; i < e->span_cnt; i++) {
        char text[64];
        u64 n = accepted_between(w, e->spans[i].from_us, e->spans[i].until_us);
        if (e->spans[i].moves == (n != 0)) {
            continue;
        }
        (void)snprintf(text, sizeof text, "from %llu s on, blocks: %s",
                       (unsigned long long)(e->spans[i].from_us / 1000000), e->spans[i].moves ? "at least" : "at most");
        missing(w, text, n, e->spans[i].moves);
    }
}

static void judge_expectations(world *w)
{
    const cd_sim_expect *e = &w->cfg.expect;
    const cd_sim_result *r = &w->result;
    if (r->accepted < e->accepted) {
        missing(w, "accepted at least", r->accepted, e->accepted);
    }
    if (e->accepted_most != 0 && r->accepted > e->accepted_most) {
        missing(w, "accepted at most", r->accepted, e->accepted_most);
    }
    if (r->refused < e->refused) {
        missing(w, "refused at least", r->refused, e->refused);
    }
    if (r->halts < e->halted) {
        missing(w, "halted at least", r->halts, e->halted);
    }
    judge_spans(w);
}

void cd__world_judge_end(world *w)
{
    cd_sim_result *r = &w->result;
    r->accepted = w->chain_cnt - 1;
    r->lowest = UINT64_MAX;
    for (u32 i = 0; i < w->cfg.nodes; i++) {
        const sim_node *n = &w->nodes[i];
        add_stats(r, n);
        r->liars += n->is_liar;
        r->honest += !n->is_liar;
        r->down += !n->is_up && !n->is_liar;
        if (!n->is_liar) {
            r->lowest = cd_min_u64(r->lowest, n->audit.last_height);
            r->highest = cd_max_u64(r->highest, n->audit.last_height);
        }
    }
    r->final_p50_us = w->hist_cnt == 0 ? 0 : percentile(w, 50);
    r->final_p99_us = w->hist_cnt == 0 ? 0 : percentile(w, 99);
    r->final_max_us = w->hist_max_us;
    r->fingerprint = w->digest;
    judge_quiet(w);
    judge_expectations(w);
}
