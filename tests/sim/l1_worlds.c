/* The six ways in which L1s halt: what the diagnosis says at each moment of their scenarios, against what they did.
 *
 *   scenario ──► sim: blocks come, or none do (expect moves, still; worlds.c runs them)
 *            └─► the same acts as facts ──► diagnosis: warned before, halted with its cause, well in the end
 *
 * A second of the world stands for six hours of an L1, so that a warning of seven days is one of 28 seconds.
 *
 * usage: l1_worlds DIR */
#include "base/os/fileio.h"
#include "chains/platform/l1/diagnosis.h"
#include "sim/script.h"

#include <stdio.h>

#define BEFORE_US (1000 * (u64)CD_SIM_MILLION) /* the L1 is older than the world */

enum { NODES_MAX = 16, SCALE = 6 * 3600, WITHIN_S = 7 * 86400, NO_RULES = 2, STEP_US = 5000000 };

typedef struct row {
    const char *file;
    cd_l1_cause cause;     /* of the halt */
    cd_l1_cause warning;   /* what is told before */
    cd_l1_severity before; /* and how loud */
    cd_l1_manager manager;
} row;

static const row rows[] = {
    {"l1-balances.sim", CD_L1_BALANCES, CD_L1_BALANCES, CD_L1_WARNING, CD_L1_MANAGER_OWN},
    {"l1-concentrated.sim", CD_L1_CONCENTRATED, CD_L1_CONCENTRATED, CD_L1_NOTE, CD_L1_MANAGER_OWN},
    {"l1-key-lost.sim", CD_L1_UNREACHABLE, CD_L1_UNREACHABLE, CD_L1_WARNING, CD_L1_MANAGER_OTHER},
    {"l1-manager.sim", CD_L1_UNREACHABLE, CD_L1_MANAGER, CD_L1_WARNING, CD_L1_MANAGER_NOWHERE},
    {"l1-unreachable.sim", CD_L1_UNREACHABLE, CD_L1_UNREACHABLE, CD_L1_WARNING, CD_L1_MANAGER_OWN},
    {"l1-upgrade.sim", CD_L1_RELEASES, CD_L1_RELEASES, CD_L1_WARNING, CD_L1_MANAGER_OWN},
};

static int failures;

static void complain(const row *r, u64 at_us, const char *what)
{
    (void)printf("%s, %llu s: %s\n", r->file, (unsigned long long)(at_us / CD_SIM_MILLION), what);
    failures++;
}

/* --- facts of a moment --- */

static bool is_in(const cd_sim_nodes *nodes, u32 no)
{
    bool found = false;
    for (u32 i = 0; i < nodes->cnt; i++) {
        found = found || (no >= nodes->r[i].from && no <= nodes->r[i].to);
    }
    return found;
}

static void apply(cd_l1_member *m, const cd_sim_act *act, u64 at_us)
{
    bool is_on = act->at_us <= at_us && at_us < act->until_us;
    if (act->verb == CD_SIM_UNPAID && act->at_us > at_us) {
        m->left_s = cd_min_u64(m->left_s, (act->at_us - at_us) / CD_SIM_MILLION * SCALE);
    }
    if (!is_on) {
        return;
    }
    if (act->verb == CD_SIM_UNPAID) {
        m->balance = 0;
        m->left_s = 0;
    } else if (act->verb == CD_SIM_WEIGHT) {
        m->weight = act->value;
    } else if (act->verb == CD_SIM_CRASH || act->verb == CD_SIM_PARTITION) {
        m->reach = CD_L1_AWAY; /* for those on the other side */
    } else if (act->verb == CD_SIM_RULES) {
        m->release = NO_RULES;
    }
}

static usize members_of(cd_l1_member *v, const cd_sim_cfg *cfg, u64 at_us)
{
    usize n = 0;
    for (u32 i = 0; i < cfg->nodes; i++) {
        cd_l1_member m = {.validation_id = {{(u8)(i + 1)}},
                          .node_id = {{(u8)(i + 1)}},
                          .weight = 1000,
                          .balance = 1000,
                          .has_key = true,
                          .reach = CD_L1_THERE,
                          .release = 1,
                          .left_s = CD_L1_FAR_S,
                          .worst_s = CD_L1_FAR_S};
        for (u32 a = 0; a < cfg->act_cnt; a++) {
            if (is_in(&cfg->acts[a].nodes, i)) {
                apply(&m, &cfg->acts[a], at_us);
            }
        }
        if (m.weight != 0) { /* the manager has removed it */
            v[n++] = m;
        }
    }
    return n;
}

static void diagnose(cd_l1_health *h, cd_arena *a, const row *r, const cd_sim_cfg *cfg, u64 at_us, u64 last_block_us)
{
    cd_l1_member *v = cd_arena_array(a, cd_l1_member, NODES_MAX);
    const cd_l1_facts f = {.v = v,
                           .cnt = members_of(v, cfg, at_us),
                           .manager = r->manager,
                           .has_address = true,
                           .has_reach = true,
                           .last_block_s = (BEFORE_US + last_block_us) / CD_SIM_MILLION * SCALE,
                           .now_s = (BEFORE_US + at_us) / CD_SIM_MILLION * SCALE,
                           .within_s = WITHIN_S,
                           .quorum = cd_l1_quorum_default()};
    cd_l1_diagnose(h, a, &f);
}

static bool tells(const cd_l1_health *h, cd_l1_cause cause, cd_l1_severity at_least)
{
    bool found = false;
    for (usize i = 0; i < h->finding_cnt; i++) {
        found = found || (h->findings[i].cause == cause && h->findings[i].severity >= at_least);
    }
    return found;
}

/* --- a scenario --- */

/* Of a time in which blocks come, and one in which none do, at each step. */
static void check_span(const row *r, const cd_sim_cfg *cfg, u32 span, cd_arena *a)
{
    u64 from = cfg->expect.spans[span].from_us;
    bool moves = cfg->expect.spans[span].moves;
    for (u64 at = from; at < cfg->expect.spans[span].until_us; at += STEP_US) {
        cd_l1_health h;
        cd_arena_reset(a);
        diagnose(&h, a, r, cfg, at, moves ? at : from - STEP_US);
        bool halts = h.finding_cnt != 0 && h.findings[0].severity == CD_L1_HALT;
        if (moves && (halts || h.standing.state == CD_L1_HALTS)) {
            complain(r, at, "blocks come, and it is said to stand still");
        } else if (!moves && (!halts || h.findings[0].cause != r->cause)) {
            complain(r, at, "no blocks come, and the cause is not named first");
        }
    }
}

/* Seven days before it stands still the first time, somebody could know. */
static void check_warning(const row *r, const cd_sim_cfg *cfg, cd_arena *a)
{
    u32 i = 0;
    while (i < cfg->expect.span_cnt && cfg->expect.spans[i].moves) {
        i++;
    }
    u64 early = (u64)WITHIN_S / SCALE * CD_SIM_MILLION;
    u64 at = cfg->expect.spans[i].from_us - early - STEP_US; /* a halt is seen one step late */
    cd_l1_health h;
    cd_arena_reset(a);
    diagnose(&h, a, r, cfg, at, at);
    if (!tells(&h, r->warning, r->before)) {
        complain(r, at, "nothing is told before it stands still");
    }
}

static void check(const row *r, const char *dir)
{
    char path[4096];
    cd_sim_cfg cfg = {.seed = 0};
    cd_arena mem = {0};
    cd_arena a = {0};
    cd_buf text = {0};
    cd_errinfo why = {0};
    cd_sim_default(&cfg);
    (void)snprintf(path, sizeof path, "%s/%s", dir, r->file);
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, CD_SIM_SCRIPT_BYTES_MAX, &why);
    e = e != CD_OK ? e : cd_sim_script_parse(&cfg, &mem, cd_buf_bytes(&text), &why);
    if (e != CD_OK || cfg.nodes > NODES_MAX || cfg.expect.span_cnt < 3) {
        complain(r, 0, e != CD_OK ? why.msg : "it does not say when blocks come");
    } else {
        check_warning(r, &cfg, &a);
        for (u32 i = 0; i < cfg.expect.span_cnt; i++) {
            check_span(r, &cfg, i, &a);
        }
        if (!cfg.expect.spans[cfg.expect.span_cnt - 1].moves) {
            complain(r, cfg.duration_us, "it does not go on again");
        }
    }
    cd_buf_fini(&text);
    cd_arena_fini(&a);
    cd_arena_fini(&mem);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: l1_worlds DIR\n");
        return 2;
    }
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        check(&rows[i], argv[1]);
    }
    (void)printf("%zu scenarios, %d failures\n", CD_COUNT(rows), failures);
    return failures == 0 ? 0 : 1;
}
