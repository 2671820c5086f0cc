/* Troubles of nodes and of the network: each begins and ends at its time. */
#include "base/mem/mem.h"
#include "sim/sim_priv.h"

static const char *const words[] = {
    [CD_SIM_CRASH] = "nodes crash",
    [CD_SIM_PARTITION] = "the network falls apart",
    [CD_SIM_LOSS] = "messages get lost",
    [CD_SIM_DOUBLE] = "messages come twice",
    [CD_SIM_REORDER] = "messages come out of order",
    [CD_SIM_SLOW] = "lines are slow",
    [CD_SIM_DISK] = "disks fail",
    [CD_SIM_INDEX] = "the wrapper's index and the chain differ",
    [CD_SIM_CLOCK] = "clocks go wrong",
    [CD_SIM_WEIGHT] = "the validators change",
    [CD_SIM_UNPAID] = "balances have ended",
    [CD_SIM_LATE] = "the P-Chain is seen late",
    [CD_SIM_LIARS] = "liars lie",
    [CD_SIM_RULES] = "nodes do not know of the new rules",
    [CD_SIM_QUIET] = "nobody sends transactions",
    [CD_SIM_MARK] = "mark",
};

static bool disturbs(cd_sim_verb v)
{
    return v != CD_SIM_WEIGHT && v != CD_SIM_UNPAID && v != CD_SIM_LIARS && v != CD_SIM_QUIET && v != CD_SIM_MARK &&
           v != CD_SIM_LATE;
}

/* --- one node --- */

static void stop(sim_node *n)
{
    if (n->is_up) {
        cd__world_node_down(n);
    }
}

static void start(sim_node *n)
{
    n->disk.has_failed = false;
    n->disk.fault = CD_SIM_DISK_IS_GOOD;
    if (!n->is_up) {
        cd__world_node_up(n);
    }
}

static void begin_disk(sim_node *n, cd_sim_fault fault)
{
    n->disk.fault = n->is_up ? fault : CD_SIM_DISK_IS_GOOD;
}

/* --- the wrapper's index --- */

static void height_key(u8 out[9], char table, u64 height)
{
    out[0] = (u8)table;
    cd_put_be64(out + 1, height);
}

/* Takes the highest heights out of the wrapper's index, and keeps their records for putting them back: key, length,
 * value. */
static void cut_index(sim_node *n, cd_buf *kept, u64 blocks)
{
    u8 key[9];
    cd_buf id = {0};
    for (u64 h = n->audit.last_height; h > 0 && blocks > 0; h--, blocks--) {
        height_key(key, 'h', h);
        if (cd_kv_get(n->own_kv, &id, cd_bytes_of(key, sizeof key)) == CD_OK && id.n == 32) {
            u8 no[4];
            cd_put_be32(no, n->no);
            cd_buf_put(kept, cd_bytes_of(no, 4));
            cd_buf_put(kept, cd_bytes_of(key, sizeof key));
            cd_buf_put(kept, cd_buf_bytes(&id));
            cd_err e = cd_kv_del(n->own_kv, cd_bytes_of(key, sizeof key));
            CD_ASSERT(e == CD_OK);
        }
    }
    cd_buf_fini(&id);
}

static void mend_index(world *w, const cd_buf *kept)
{
    for (usize at = 0; at + 45 <= kept->n; at += 45) {
        const sim_node *n = &w->nodes[cd_be32(kept->p + at)];
        cd_err e = cd_kv_put(n->own_kv, cd_bytes_of(kept->p + at + 4, 9), cd_bytes_of(kept->p + at + 13, 32));
        CD_ASSERT(e == CD_OK);
    }
}

static void begin_index(world *w, act_state *s, sim_node *n)
{
    u64 blocks = s->act.value & 0xffffffff;
    stop(n);
    if ((s->act.value & CD_SIM_BEHIND) == 0) {
        /* As if only a part of what was written had reached the disk. */
        cd_err e = cd_sim_chain_cut(n->disk.mem, blocks);
        CD_ASSERT(e == CD_OK);
        start(n);
        return;
    }
    cut_index(n, &s->kept, blocks);
    start(n);
    if (n->is_up && n->audit.last_height > 1) {
        cd__world_violation(w, n->no, "a node starts though its index is behind its chain");
    }
}

/* --- all that happens --- */

static void begin_node(world *w, act_state *s, sim_node *n)
{
    const cd_sim_act *a = &s->act;
    cd_sim_signer *signer = &w->stake.nodes[n->no];
    switch (a->verb) {
    case CD_SIM_CRASH:
        stop(n);
        break;
    case CD_SIM_PARTITION:
        n->group = w->groups;
        break;
    case CD_SIM_SLOW:
        n->bits_per_s = cd_max_u64(a->value, 1000);
        break;
    case CD_SIM_DISK:
        begin_disk(n, (cd_sim_fault)a->value);
        break;
    case CD_SIM_INDEX:
        begin_index(w, s, n);
        break;
    case CD_SIM_CLOCK:
        n->skew_s = (i64)a->value;
        break;
    case CD_SIM_WEIGHT:
        s->before[n->no] = signer->weight;
        signer->weight = a->value;
        break;
    case CD_SIM_UNPAID:
        signer->unpaid++;
        break;
    case CD_SIM_LATE:
        n->view.late_us = a->value * CD_SIM_MILLION;
        break;
    case CD_SIM_RULES:
        stop(n);
        n->chain_cfg.second_rules_s = CD_SIM_GENESIS_S + a->value;
        start(n);
        break;
    case CD_SIM_LOSS:
    case CD_SIM_DOUBLE:
    case CD_SIM_REORDER:
    case CD_SIM_LIARS:
    case CD_SIM_QUIET:
    case CD_SIM_MARK:
        break;
    }
}

static void end_node(world *w, const act_state *s, sim_node *n)
{
    cd_sim_signer *signer = &w->stake.nodes[n->no];
    switch (s->act.verb) {
    case CD_SIM_CRASH:
    case CD_SIM_DISK:
    case CD_SIM_INDEX:
        start(n);
        break;
    case CD_SIM_PARTITION:
        n->group = 0;
        break;
    case CD_SIM_SLOW:
        n->bits_per_s = w->cfg.bits_per_s;
        break;
    case CD_SIM_CLOCK:
        n->skew_s = 0;
        break;
    case CD_SIM_WEIGHT:
        signer->weight = s->before[n->no];
        break;
    case CD_SIM_UNPAID:
        signer->unpaid--;
        break;
    case CD_SIM_LATE:
        n->view.late_us = 0;
        break;
    case CD_SIM_RULES:
        stop(n);
        n->chain_cfg.second_rules_s = w->second_rules_s;
        start(n);
        break;
    case CD_SIM_LOSS:
    case CD_SIM_DOUBLE:
    case CD_SIM_REORDER:
    case CD_SIM_LIARS:
    case CD_SIM_QUIET:
    case CD_SIM_MARK:
        break;
    }
}

static void set_network(world *w, const act_state *s, bool begins)
{
    u32 ppm = begins ? (u32)s->act.value : 0;
    switch (s->act.verb) {
    case CD_SIM_LOSS:
        w->loss_ppm = begins ? ppm : w->cfg.loss_ppm;
        break;
    case CD_SIM_DOUBLE:
        w->double_ppm = ppm;
        break;
    case CD_SIM_REORDER:
        w->reorder_ppm = ppm;
        break;
    case CD_SIM_LIARS:
        w->lying += begins ? 1 : (u32)-1;
        break;
    case CD_SIM_QUIET:
        w->quiet += begins ? 1 : (u32)-1;
        break;
    case CD_SIM_WEIGHT:
    case CD_SIM_UNPAID:
        cd_sim_stake_commit(&w->stake, w->now_us);
        break;
    case CD_SIM_CRASH:
    case CD_SIM_PARTITION:
    case CD_SIM_SLOW:
    case CD_SIM_DISK:
    case CD_SIM_INDEX:
    case CD_SIM_CLOCK:
    case CD_SIM_LATE:
    case CD_SIM_RULES:
    case CD_SIM_MARK:
        break;
    }
}

static void begin(world *w, act_state *s)
{
    s->has_begun = true;
    w->groups += s->act.verb == CD_SIM_PARTITION ? 1 : 0;
    w->disturbed += disturbs(s->act.verb) ? 1 : 0;
    if (s->act.verb == CD_SIM_WEIGHT && s->before == NULL) {
        s->before = cd_new_array(u64, w->cfg.nodes);
    }
    cd_sim_trace_put(w->cfg.trace, 'w', w->now_us, "%s", words[s->act.verb]);
    for (u32 i = 0; i < w->cfg.nodes; i++) {
        if (cd__world_in(&s->act.nodes, i)) {
            begin_node(w, s, &w->nodes[i]);
        }
    }
    set_network(w, s, true);
}

static void end(world *w, act_state *s)
{
    s->has_ended = true;
    w->disturbed -= disturbs(s->act.verb) ? 1 : 0;
    cd_sim_trace_put(w->cfg.trace, 'w', w->now_us, "no more: %s", words[s->act.verb]);
    mend_index(w, &s->kept);
    for (u32 i = 0; i < w->cfg.nodes; i++) {
        if (cd__world_in(&s->act.nodes, i)) {
            end_node(w, s, &w->nodes[i]);
        }
    }
    set_network(w, s, false);
}

void cd__world_acts_add(world *w, const cd_sim_act *a)
{
    if (w->act_cnt == w->act_cap) {
        w->act_cap = w->act_cap == 0 ? 16 : w->act_cap * 2;
        w->acts = cd_realloc(w->acts, w->act_cap * sizeof *w->acts);
    }
    w->acts[w->act_cnt++] = (act_state){.act = *a};
}

void cd__world_acts_due(world *w)
{
    if (w->now_us < w->next_act_us) {
        return;
    }
    u64 next = UINT64_MAX;
    for (u32 i = 0; i < w->act_cnt; i++) {
        act_state *s = &w->acts[i];
        if (!s->has_begun && s->act.at_us <= w->now_us) {
            begin(w, s);
        }
        if (s->has_begun && !s->has_ended && s->act.until_us <= w->now_us) {
            end(w, s);
        }
        next = s->has_begun ? next : cd_min_u64(next, s->act.at_us);
        next = s->has_begun && !s->has_ended ? cd_min_u64(next, s->act.until_us) : next;
    }
    w->next_act_us = next;
}

void cd__world_acts_fini(world *w)
{
    for (u32 i = 0; i < w->act_cnt; i++) {
        cd_free(w->acts[i].before);
        cd_buf_fini(&w->acts[i].kept);
    }
    cd_free(w->acts);
}
