/* Who is asked, what the answers say, and what follows from the answers. */
#include "consensus/snow/snowman_priv.h"

#include "base/mem/mem.h"

/* --- who --- */

static u64 draw(void *ctx)
{
    return cd_rng_u64(ctx);
}

static bool know_electorate(snowman *s)
{
    if (cd_voters_read(&s->who.voters, s->cfg.validators, &s->cfg.subnet)) {
        s->who.is_counted = false;
    }
    return s->who.voters.is_known;
}

static bool is_self(const snowman *s, const cd_node_id *node)
{
    return memcmp(s->cfg.self.b, node->b, sizeof node->b) == 0;
}

static bool is_reachable(const snowman *s, const cd_node_id *node)
{
    return is_self(s, node) || cd_hmap_get(&s->peers, node) != NULL;
}

/* Whether enough of the stake is connected for a quorum. */
static bool can_ask(snowman *s)
{
    electorate *who = &s->who;
    if (!know_electorate(s) || who->voters.weights.total == 0) {
        return false;
    }
    if (!who->is_counted) {
        who->connected = 0;
        for (u32 i = 0; i < who->voters.weights.cnt; i++) {
            const cd_weighted_node *n = &who->voters.weights.heap[i];
            who->connected += is_reachable(s, &who->voters.nodes[n->idx]) ? n->weight : 0;
        }
        who->is_counted = true;
    }
    return (u128)who->connected * s->cfg.params.k >= (u128)s->who.voters.weights.total * s->cfg.params.alpha_confidence;
}

/* --- asking --- */

static u64 next_height(const snowman *s)
{
    cd_hash32 last;
    u64 height;
    cd_snow_tree_last(s->tree, &last, &height);
    return height + 1;
}

/* The different nodes of a sample, without this node. */
static u32 distinct(const snowman *s, cd_node_id *out, const cd_node_id *sample, u32 cnt)
{
    u32 n = 0;
    for (u32 i = 0; i < cnt; i++) {
        bool is_new = !is_self(s, &sample[i]);
        for (u32 j = 0; is_new && j < n; j++) {
            is_new = memcmp(out[j].b, sample[i].b, sizeof out[j].b) != 0;
        }
        if (is_new) {
            out[n++] = sample[i];
        }
    }
    return n;
}

void cd__snowman_query(snowman *s, const cd_hash32 *id, cd_bytes block, bool is_shown)
{
    cd_node_id sample[CD_SNOW_K_MAX];
    cd_node_id to[CD_SNOW_K_MAX];
    const cd_draw d = {.next = draw, .ctx = s->cfg.rng};
    const u32 k = s->cfg.params.k;
    cd_hash32 asked = *id;
    if (cd_snow_polls_cnt(s->polls) >= CD_SNOWMAN_POLLS_MAX || !can_ask(s)) {
        return;
    }
    for (u32 i = 0; i < k; i++) {
        sample[i] = s->who.voters.nodes[cd_weighted_pick(&s->who.voters.weights, &d)];
    }
    u32 request = ++s->request;
    cd_snow_polls_add(s->polls, request, sample, k);
    u32 cnt = distinct(s, to, sample, k);
    if (cnt != 0 && is_shown) {
        s->cfg.net->push_query(s->cfg.net, to, cnt, request, block, next_height(s));
    } else if (cnt != 0) {
        s->cfg.net->pull_query(s->cfg.net, to, cnt, request, &asked, next_height(s));
    }
    /* Our own vote; it counts if this node was drawn. */
    (void)cd_snow_polls_vote(s->polls, request, &s->cfg.self, cd_snow_tree_preference(s->tree));
}

void cd__snowman_repoll(snowman *s)
{
    u32 before = UINT32_MAX;
    if (CD_MUTANT(NO_REPOLL)) {
        return;
    }
    while (cd_snow_tree_cnt(s->tree) != 0 && cd_snow_polls_cnt(s->polls) < s->cfg.params.concurrent_repolls &&
           cd_snow_polls_cnt(s->polls) != before) {
        before = cd_snow_polls_cnt(s->polls);
        cd__snowman_query(s, cd_snow_tree_preference(s->tree), (cd_bytes){0}, false);
    }
}

void cd__snowman_aside(snowman *s)
{
    const cd_draw d = {.next = draw, .ctx = s->cfg.rng};
    if (!know_electorate(s) || s->who.voters.weights.total == 0) {
        return;
    }
    for (u32 tries = 0; tries < ASIDES; tries++) {
        const cd_node_id *node = &s->who.voters.nodes[cd_weighted_pick(&s->who.voters.weights, &d)];
        if (!is_self(s, node) && is_reachable(s, node)) {
            aside *a = &s->asides[s->aside_at++ % ASIDES];
            *a = (aside){.node = *node, .request = ++s->request};
            s->cfg.net->pull_query(s->cfg.net, node, 1, a->request, cd_snow_tree_preference(s->tree), next_height(s));
            return;
        }
    }
}

/* --- votes --- */

/* The undecided block that a vote for id counts for: id itself, or its nearest known undecided ancestor. */
static bool bubble(const snowman *s, cd_hash32 *out, const cd_hash32 *id)
{
    cd_hash32 at = *id;
    for (u32 steps = 0; steps <= CD_SNOWMAN_PENDING_MAX; steps++) {
        if (cd_snow_tree_find(s->tree, NULL, &at)) {
            *out = at;
            return true;
        }
        if (!cd__snowman_above(s, &at, &at)) {
            return false;
        }
    }
    return false;
}

static void count(snowman *s, const waiting *w)
{
    cd_hash32 id;
    if (bubble(s, &id, &w->options[0]) || bubble(s, &id, &w->options[1])) {
        if (!cd_snow_polls_vote(s->polls, w->request, &w->node, &id) && CD_MUTANT(COUNTS_STRANGERS)) {
            u32 cnt;
            const cd_snow_vote many = {.id = id, .cnt = s->cfg.params.k};
            (void)cd_snow_tree_poll(s->tree, &cnt, &many, 1);
        }
    } else {
        (void)cd_snow_polls_drop(s->polls, w->request, &w->node);
    }
}

static bool is_waiting(const snowman *s, const waiting *w)
{
    return cd__snowman_is_coming(s, &w->options[0]) || cd__snowman_is_coming(s, &w->options[1]);
}

void cd__snowman_vote(snowman *s, const cd_node_id *node, u32 request, const cd_hash32 options[2])
{
    const waiting w = {.node = *node, .request = request, .options = {options[0], options[1]}};
    if (!is_waiting(s, &w)) {
        count(s, &w);
        return;
    }
    for (u32 i = 0; i < s->waiting_cnt; i++) {
        if (s->waiting[i].request == request && memcmp(s->waiting[i].node.b, node->b, sizeof node->b) == 0) {
            return; /* the node's vote waits already */
        }
    }
    if (s->waiting_cnt == s->waiting_cap) {
        s->waiting_cap = s->waiting_cap == 0 ? 64 : s->waiting_cap * 2;
        s->waiting = cd_realloc(s->waiting, s->waiting_cap * sizeof *s->waiting);
    }
    s->waiting[s->waiting_cnt++] = w;
}

void cd__snowman_drop(snowman *s, const cd_node_id *node, u32 request)
{
    if (!CD_MUTANT(NO_DROP)) {
        (void)cd_snow_polls_drop(s->polls, request, node);
    }
}

static bool count_waiting(snowman *s)
{
    u32 kept = 0;
    u32 before = s->waiting_cnt;
    for (u32 i = 0; i < s->waiting_cnt; i++) {
        const waiting w = s->waiting[i];
        if (!cd_snow_polls_is_asked(s->polls, w.request, &w.node)) {
            continue; /* the poll has ended */
        }
        if (is_waiting(s, &w)) {
            s->waiting[kept++] = w;
        } else {
            count(s, &w);
        }
    }
    s->waiting_cnt = kept;
    return kept != before;
}

/* --- decisions --- */

static void halt(snowman *s, const cd_errinfo *why, cd_err e)
{
    s->is_halted = true;
    cd_log_error(s->cfg.log, "a block could not be accepted; the chain stands still", CD_F("chain", s->cfg.name),
                 CD_F("error", why->msg[0] != '\0' ? (const char *)why->msg : cd_err_str(e)));
}

static void accept_block(snowman *s, cd_vm_block *b)
{
    cd_errinfo why = {0};
    bool is_in = false;
    cd_err e = cd_commit_door_accept(&s->cfg.door, s->vm, b, &s->batch, &is_in, &why);
    if (!is_in) {
        halt(s, &why, e);
        return;
    }
    s->engine.stats.accepted += b->span;
    s->engine.stats.accepted_bytes += b->bytes.n;
    s->engine.stats.accepted_time = b->time;
    if (e != CD_OK) {
        cd_log_error(s->cfg.log, "a block is accepted, and the VM reports", CD_F("chain", s->cfg.name),
                     CD_F("error", why.msg[0] != '\0' ? (const char *)why.msg : cd_err_str(e)));
    }
}

static void reject_block(snowman *s, cd_vm_block *b)
{
    if (CD_MUTANT(KEEPS_SIBLINGS)) {
        return;
    }
    cd_err e = s->vm->ops->reject(s->vm, b);
    s->engine.stats.rejected++;
    s->engine.stats.rejected_bytes += b->bytes.n;
    if (e != CD_OK) {
        cd_log_error(s->cfg.log, "the VM keeps a rejected block", CD_F("chain", s->cfg.name));
    }
}

static void apply(snowman *s, const cd_snow_decision *made, u32 cnt)
{
    for (u32 i = 0; i < cnt; i++) {
        cd_vm_block *b = made[i].user;
        if (!s->is_halted && made[i].is_accepted) {
            accept_block(s, b);
        } else if (!s->is_halted) {
            reject_block(s, b);
        }
        s->vm->ops->release(s->vm, b);
    }
}

/* Every vote counts for the child of the last accepted block, too: with fewer than a quorum no block has one. */
static void count_poll(snowman *s, const cd_snow_vote *votes, u32 cnt)
{
    u32 sum = 0;
    for (u32 i = 0; i < cnt; i++) {
        sum += votes[i].cnt;
    }
    s->engine.stats.polls_ok += sum >= s->cfg.params.alpha_preference;
    s->engine.stats.polls_failed += sum < s->cfg.params.alpha_preference;
}

static bool end_polls(snowman *s)
{
    const cd_snow_vote *votes;
    u32 cnt;
    bool any = false;
    while (!s->is_halted && cd_snow_polls_next(s->polls, &votes, &cnt)) {
        count_poll(s, votes, cnt);
        const cd_snow_decision *made = cd_snow_tree_poll(s->tree, &cnt, votes, cnt);
        apply(s, made, cnt);
        any = true;
    }
    return any;
}

static void tell_preference(snowman *s)
{
    const cd_hash32 *id = cd_snow_tree_preference(s->tree);
    if (!s->is_halted && !CD_MUTANT(STALE_PREFERENCE) && s->vm->ops->set_preference(s->vm, id) != CD_OK) {
        cd_log_error(s->cfg.log, "the VM does not know the preferred block", CD_F("chain", s->cfg.name));
    }
}

/* Counts votes that have waited, and ends polls, until nothing more follows: new polls may end at once where our own
 * stake is large. */
void cd__snowman_settle(snowman *s)
{
    bool again = true;
    while (again && !s->is_halted) {
        again = count_waiting(s);
        if (end_polls(s)) {
            cd__snowman_repoll(s);
            again = true;
        }
    }
    s->engine.stats.processing = cd_snow_tree_cnt(s->tree);
    s->engine.stats.asked = cd_hmap_cnt(&s->fetches);
    s->engine.stats.pending = cd_hmap_cnt(&s->pending);
    tell_preference(s);
}
