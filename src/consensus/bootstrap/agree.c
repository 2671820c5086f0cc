/* What the network has accepted: a sample of beacons names blocks, then all beacons say which of them they have
 * accepted. */
#include "consensus/bootstrap/bootstrap_priv.h"

#include "base/mem/mem.h"

static u64 draw(void *ctx)
{
    return cd_rng_u64(ctx);
}

/* --- who counts --- */

static bool is_there(const bootstrap *s, const cd_node_id *node)
{
    return is_same_node(node, &s->cfg.self) || cd_hmap_get(&s->peers, node) != NULL;
}

/* Reads the beacons, and begins a round in which no beacon has been asked. False: they are not known yet. */
static bool know_beacons(bootstrap *s)
{
    if (s->wants_state && s->cfg.sync_beacon_cnt != 0) {
        cd_voters_set(&s->beacons, s->cfg.sync_beacons, s->cfg.sync_beacon_cnt);
    } else if (s->cfg.has_beacons && !s->beacons.is_known) {
        cd_voters_set(&s->beacons, s->cfg.beacons, s->cfg.beacon_cnt);
    } else if (!s->cfg.has_beacons) {
        (void)cd_voters_read(&s->beacons, s->cfg.validators, &s->cfg.subnet);
    }
    if (!s->beacons.is_known) {
        return false;
    }
    const cd_weighted *w = &s->beacons.weights;
    cd_free(s->asked);
    s->asked = cd_new_array(beacon, w->cnt);
    for (u32 i = 0; i < w->cnt; i++) {
        s->asked[w->heap[i].idx] = (beacon){.stake = w->heap[i].weight};
    }
    return true;
}

/* Whether beacons with three quarters of the stake, rounded up, are connected. [spec:p2p#10] */
static bool are_enough_there(const bootstrap *s)
{
    u64 there = 0;
    for (u32 i = 0; i < s->beacons.weights.cnt; i++) {
        there += is_there(s, &s->beacons.nodes[i]) ? s->asked[i].stake : 0;
    }
    return there >= s->beacons.weights.total - s->beacons.weights.total / 4;
}

beacon *cd__boot_answers(bootstrap *s, const cd_node_id *from)
{
    for (u32 i = 0; i < s->beacons.weights.cnt; i++) {
        if (s->asked[i].state == ASKED && is_same_node(&s->beacons.nodes[i], from)) {
            s->asked[i].state = TOLD;
            s->open--;
            return &s->asked[i];
        }
    }
    return NULL;
}

/* --- agreement --- */

static u64 enough(const bootstrap *s)
{
    return s->beacons.weights.total / 2 + 1;
}

/* Asks further beacons, as many as may be asked at a time. */
static void ask_more(bootstrap *s)
{
    cd_node_id to[CD_BOOTSTRAP_ASKED_MAX];
    cd_hash32 ids[CD_BOOTSTRAP_SAMPLE];
    u32 n = 0;
    for (u32 i = 0; i < s->beacons.weights.cnt && s->open < CD_BOOTSTRAP_ASKED_MAX; i++) {
        if (s->asked[i].state == TO_ASK) {
            s->asked[i].state = ASKED;
            s->open++;
            to[n++] = s->beacons.nodes[i];
        }
    }
    for (u32 i = 0; i < s->candidate_cnt; i++) {
        ids[i] = s->candidates[i].id;
    }
    if (n != 0 && s->wants_state) {
        u64 heights[CD_BOOTSTRAP_SAMPLE];
        for (u32 i = 0; i < s->candidate_cnt; i++) {
            heights[i] = s->summaries[i].height;
        }
        s->cfg.net->get_summaries(s->cfg.net, to, n, s->request, heights, s->candidate_cnt);
    } else if (n != 0) {
        s->cfg.net->get_accepted(s->cfg.net, to, n, s->request, ids, s->candidate_cnt);
    }
}

/* Whether those who have not answered cannot change what is agreed on. */
static bool is_decided(const bootstrap *s)
{
    u64 left = 0;
    bool is = true;
    for (u32 i = 0; i < s->beacons.weights.cnt; i++) {
        left += s->asked[i].state == TOLD ? 0 : s->asked[i].stake;
    }
    for (u32 i = 0; i < s->candidate_cnt; i++) {
        u64 stake = s->candidates[i].stake;
        is = is && (stake >= enough(s) || stake + left < enough(s));
    }
    return is;
}

static void end_agreement(bootstrap *s)
{
    cd_hash32 ids[CD_BOOTSTRAP_SAMPLE];
    u32 n = 0;
    if (s->wants_state) {
        cd__boot_end_summaries(s, enough(s));
        return;
    }
    for (u32 i = 0; i < s->candidate_cnt; i++) {
        if (s->candidates[i].stake >= enough(s)) {
            ids[n++] = s->candidates[i].id;
        }
    }
    if (n == 0) {
        cd_log_debug(s->cfg.log, "no block that the beacons agree on; asking again", CD_F("chain", s->cfg.name),
                     CD_F("candidates", (u64)s->candidate_cnt));
        cd__boot_again(s, BOOT_RETRY_NS);
        return;
    }
    s->open = 0;
    cd__boot_fetch(s, ids, n);
}

void cd__boot_on_accepted(bootstrap *s, const cd_node_id *from, const cd_hash32 *ids, u32 cnt, bool is_silent)
{
    const beacon *b = cd__boot_answers(s, from);
    if (b == NULL) {
        return;
    }
    s->silent += is_silent ? b->stake : 0;
    for (u32 i = 0; i < s->candidate_cnt; i++) {
        bool has = false;
        for (u32 k = 0; k < cnt && !has; k++) {
            has = cd_hash32_eq(&ids[k], &s->candidates[i].id);
        }
        s->candidates[i].stake += has ? b->stake : 0;
    }
    if (is_decided(s)) {
        end_agreement(s);
    } else {
        ask_more(s);
    }
}

void cd__boot_begin_agreement(bootstrap *s)
{
    for (u32 i = 0; i < s->beacons.weights.cnt; i++) {
        s->asked[i].state = TO_ASK;
    }
    s->open = 0;
    s->silent = 0;
    s->request++;
    cd__boot_step(s, s->wants_state ? CD_BOOTSTRAP_WEIGHS : CD_BOOTSTRAP_AGREES);
    ask_more(s);
}

/* --- frontier --- */

static void add_candidate(bootstrap *s, const cd_hash32 *id)
{
    bool is_new = true;
    for (u32 i = 0; i < s->candidate_cnt && is_new; i++) {
        is_new = !cd_hash32_eq(&s->candidates[i].id, id);
    }
    if (is_new) {
        s->candidates[s->candidate_cnt++] = (candidate){.id = *id};
    }
}

void cd__boot_on_frontier(bootstrap *s, const cd_node_id *from, const cd_hash32 *id)
{
    if (cd__boot_answers(s, from) == NULL) {
        return;
    }
    if (id != NULL) {
        add_candidate(s, id);
    }
    if (s->open == 0 && s->candidate_cnt == 0) {
        cd__boot_again(s, BOOT_RETRY_NS);
    } else if (s->open == 0) {
        cd__boot_begin_agreement(s);
    }
}

/* Asks a sample of beacons, drawn by stake, for their frontier; one that is drawn twice is asked once. */
static void ask_frontier(bootstrap *s)
{
    cd_node_id to[CD_BOOTSTRAP_SAMPLE];
    const cd_draw d = {.next = draw, .ctx = s->cfg.rng};
    cd_weighted_bag bag;
    u32 at;
    cd_weighted_bag_init(&bag, &s->beacons.weights);
    s->open = 0;
    for (u32 i = 0; i < CD_BOOTSTRAP_SAMPLE && cd_weighted_bag_next(&bag, &at, &d); i++) {
        if (s->asked[at].state == TO_ASK) {
            s->asked[at].state = ASKED;
            to[s->open++] = s->beacons.nodes[at];
        }
    }
    cd_weighted_bag_fini(&bag);
    s->request++;
    s->candidate_cnt = 0;
    s->silent = 0;
    if (s->wants_state) {
        cd_arena_reset(&s->summary_arena);
        cd__boot_step(s, CD_BOOTSTRAP_SUMMARIES);
        s->cfg.net->get_summary_frontier(s->cfg.net, to, s->open, s->request);
        return;
    }
    cd__boot_step(s, CD_BOOTSTRAP_FRONTIER);
    s->cfg.net->get_accepted_frontier(s->cfg.net, to, s->open, s->request);
}

void cd__boot_try_begin(bootstrap *s)
{
    if (s->now_ns < s->retry_ns || !s->cfg.may_begin(s->cfg.ctx) || !know_beacons(s)) {
        return;
    }
    if (s->beacons.weights.total == 0 && s->wants_state) {
        cd__boot_no_state(s);
    } else if (s->beacons.weights.total == 0) {
        cd__boot_step(s, CD_BOOTSTRAP_SYNCED);
        s->cfg.synced(s->cfg.ctx);
    } else if (s->was_connected || are_enough_there(s)) {
        s->was_connected = true;
        ask_frontier(s);
    }
}
