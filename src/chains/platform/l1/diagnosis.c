#include "chains/platform/l1/diagnosis.h"

#include "codec/api_json.h"

#include <stdlib.h>

const char *cd_l1_cause_name(cd_l1_cause c)
{
    static const char *const names[CD_L1_CAUSES] = {"noValidators", "balances", "concentrated", "noKey",
                                                    "unreachable",  "releases", "manager",      "silent"};
    return names[c];
}

const char *cd_l1_severity_name(cd_l1_severity s)
{
    static const char *const names[] = {"note", "warning", "halt"};
    return names[s];
}

const char *cd_l1_span_text(cd_arena *a, u64 seconds)
{
    const u64 minute = 60;
    const u64 hour = 3600;
    const u64 day = 86400;
    if (seconds >= CD_L1_FAR_S) {
        return "more than 10 years";
    }
    u64 unit = seconds >= 2 * day ? day : seconds >= 2 * hour ? hour : seconds >= 2 * minute ? minute : 1;
    const char *word = unit == day ? "day" : unit == hour ? "hour" : unit == minute ? "minute" : "second";
    u64 n = seconds / unit;
    return cd_arena_fmt(a, "%llu %s%s", (unsigned long long)n, word, n == 1 ? "" : "s");
}

static void add(cd_l1_health *h, cd_l1_severity severity, cd_l1_cause cause, const char *text, const char *help)
{
    h->findings[h->finding_cnt++] = (cd_l1_finding){.severity = severity, .cause = cause, .text = text, .help = help};
}

static const char *node_text(cd_arena *a, const cd_node_id *id)
{
    cd_buf text = {0};
    cd_node_id_put(&text, id);
    const char *s = cd_arena_str(a, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return s;
}

/* Names of those that are so, three at most. */
static const char *names_of(cd_arena *a, const cd_l1_facts *f, bool (*is_so)(const cd_l1_member *m))
{
    enum { NAMED = 3 };
    const char *s = "";
    usize n = 0;
    for (usize i = 0; i < f->cnt; i++) {
        if (!is_so(&f->v[i])) {
            continue;
        }
        if (n < NAMED) {
            s = cd_arena_fmt(a, "%s%s%s", s, n == 0 ? "" : ", ", node_text(a, &f->v[i].node_id));
        }
        n++;
    }
    return n > NAMED ? cd_arena_fmt(a, "%s and %zu more", s, n - NAMED) : s;
}

static bool is_inactive(const cd_l1_member *m)
{
    return m->balance == 0;
}

static bool is_keyless(const cd_l1_member *m)
{
    return !m->has_key;
}

static bool is_away(const cd_l1_member *m)
{
    return m->balance != 0 && m->reach == CD_L1_AWAY;
}

static u64 weight_of(const cd_l1_facts *f, bool (*is_so)(const cd_l1_member *m))
{
    u64 sum = 0;
    for (usize i = 0; i < f->cnt; i++) {
        sum += is_so(&f->v[i]) ? f->v[i].weight : 0;
    }
    return sum;
}

static unsigned percent(u64 part, u64 whole)
{
    return whole == 0 ? 0 : (unsigned)((u128)part * 100 / whole);
}

/* --- the causes --- */

/* Would it go on with so much more? Only what helps is a cause of a halt. */
static cd_l1_severity severity_of(const cd_l1_health *h, u64 missing)
{
    return h->standing.state == CD_L1_HALTS && missing != 0  ? CD_L1_HALT
           : h->standing.state == CD_L1_SLOW && missing != 0 ? CD_L1_WARNING
                                                             : CD_L1_NOTE;
}

static void find_balances(cd_l1_health *h, cd_arena *a, const cd_l1_facts *f)
{
    u64 lost = weight_of(f, is_inactive);
    const char *top_up = "pay for them on the P-Chain: candela-cli tx run increase-l1-balance --validation-id=… "
                         "--amount=…; anybody may, also while the chain stands still";
    const cd_l1_outlook *o = &h->outlook;
    if (lost != 0 && h->standing.state != CD_L1_RUNS) {
        add(h, severity_of(h, lost), CD_L1_BALANCES,
            cd_arena_fmt(a, "%zu of %zu validators (%u%% of the weight) have no balance left, so they do not vote: %s",
                         h->standing.inactive, f->cnt, percent(lost, h->standing.total), names_of(a, f, is_inactive)),
            top_up);
        return;
    }
    if (o->soon != 0) {
        bool halts = o->halt_s <= f->within_s;
        const char *then =
            halts ? cd_arena_fmt(a, "; the chain stands still in %s", cd_l1_span_text(a, o->halt_s)) : "";
        add(h, CD_L1_WARNING, CD_L1_BALANCES,
            cd_arena_fmt(a, "%zu balance%s within %s, the first in %s (%s)%s", o->soon,
                         o->soon == 1 ? " ends" : "s end", cd_l1_span_text(a, f->within_s),
                         cd_l1_span_text(a, o->first_s), node_text(a, &f->v[o->first].node_id), then),
            top_up);
        return;
    }
    if (lost != 0) {
        add(h, CD_L1_NOTE, CD_L1_BALANCES,
            cd_arena_fmt(a,
                         "%zu of %zu validators (%u%% of the weight) have no balance, which lessens how many others "
                         "may fail: %s",
                         h->standing.inactive, f->cnt, percent(lost, h->standing.total), names_of(a, f, is_inactive)),
            "pay for them, or let the manager remove them");
    }
}

/* The heaviest of all, whether it votes or not. */
static void find_concentration(cd_l1_health *h, cd_arena *a, const cd_l1_facts *f)
{
    usize top = 0;
    for (usize i = 1; i < f->cnt; i++) {
        top = f->v[i].weight > f->v[top].weight ? i : top;
    }
    const cd_l1_member *m = &f->v[top];
    bool decides = cd_l1_state_of(&f->quorum, h->standing.total - m->weight, h->standing.total) == CD_L1_HALTS;
    if (!decides || ((u128)m->weight * 3 <= h->standing.total && cd_l1_votes(m))) {
        return;
    }
    bool halts = h->standing.state == CD_L1_HALTS && !cd_l1_votes(m);
    add(h, halts ? CD_L1_HALT : CD_L1_NOTE, CD_L1_CONCENTRATED,
        cd_arena_fmt(
            a, "%s has %u%% of the weight: %s", node_text(a, &m->node_id), percent(m->weight, h->standing.total),
            halts ? "without it nothing is decided, and it does not vote" : "whenever it fails the chain stands still"),
        halts ? "bring that node back with its own staking key, and pay for it if it has no balance; no rule lets "
                "others decide without it"
              : "let the manager give weight to others, so that nobody has more than a third");
}

static void find_keyless(cd_l1_health *h, cd_arena *a, const cd_l1_facts *f)
{
    u64 lost = weight_of(f, is_keyless);
    if (lost != 0) {
        add(h, severity_of(h, lost), CD_L1_NO_KEY,
            cd_arena_fmt(a, "%zu of %zu validators (%u%% of the weight) have no BLS key that works: %s",
                         h->standing.keyless, f->cnt, percent(lost, h->standing.total), names_of(a, f, is_keyless)),
            "let the manager remove them, and register them again with their keys");
    }
}

static void find_away(cd_l1_health *h, cd_arena *a, const cd_l1_facts *f)
{
    u64 lost = weight_of(f, is_away);
    if (lost == 0) {
        return;
    }
    cd_l1_severity severity = severity_of(h, lost);
    severity = severity == CD_L1_NOTE ? CD_L1_WARNING : severity;
    bool is_stuck = h->standing.state == CD_L1_HALTS && f->manager == CD_L1_MANAGER_OWN;
    add(h, severity, CD_L1_UNREACHABLE,
        cd_arena_fmt(a,
                     "%zu of %zu validators (%u%% of the weight) cannot be reached: they are down, cut off, or lost "
                     "the staking key that their node ID comes from: %s",
                     h->standing.away, f->cnt, percent(lost, h->standing.total), names_of(a, f, is_away)),
        is_stuck ? "bring enough of them back with the same staker.key, staker.crt and signer.key; the manager is on "
                   "this chain and cannot replace them while it stands still"
                 : "bring them back with the same staker.key, staker.crt and signer.key, or let the manager remove "
                   "them");
}

static int by_number(const void *a, const void *b)
{
    u32 x = *(const u32 *)a;
    u32 y = *(const u32 *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

/* Weight of voters that report a release, or say nothing of theirs. */
static u64 weight_with(const cd_l1_facts *f, u32 release)
{
    u64 sum = 0;
    for (usize i = 0; i < f->cnt; i++) {
        bool agrees = f->v[i].release == release || f->v[i].release == 0;
        sum += agrees && cd_l1_votes(&f->v[i]) ? f->v[i].weight : 0;
    }
    return sum;
}

/* Nothing was decided for so long that it is no pause between transactions only. */
static bool is_silent(const cd_l1_facts *f)
{
    enum { STALE_S = 600 };
    return f->last_block_s != 0 && f->now_s > f->last_block_s + STALE_S;
}

static void find_releases(cd_l1_health *h, cd_arena *a, const cd_l1_facts *f)
{
    u32 *r = cd_arena_array(a, u32, f->cnt);
    usize n = 0;
    usize kinds = 0;
    u64 most = 0;
    for (usize i = 0; i < f->cnt; i++) {
        if (f->v[i].release != 0) {
            r[n++] = f->v[i].release;
        }
    }
    if (n > 1) {
        qsort(r, n, sizeof *r, by_number);
    }
    for (usize i = 0; i < n; i++) {
        if (i == 0 || r[i] != r[i - 1]) {
            kinds++;
            most = cd_max_u64(most, weight_with(f, r[i]));
        }
    }
    if (kinds < 2) {
        return;
    }
    bool apart = h->standing.state != CD_L1_HALTS && cd_l1_state_of(&f->quorum, most, h->standing.total) == CD_L1_HALTS;
    add(h, apart && is_silent(f) ? CD_L1_HALT : CD_L1_WARNING, CD_L1_RELEASES,
        cd_arena_fmt(a,
                     "validators report %zu different versions or sets of upgrades; the most that agree have %u%% of "
                     "the weight%s",
                     kinds, percent(most, h->standing.total),
                     apart ? ", so that once the rules differ nothing is decided" : ""),
        "give all validators the same version and the same upgrade.json, and start them anew");
}

static void find_manager(cd_l1_health *h, const cd_l1_facts *f)
{
    const char *help = "nothing changes the manager of an L1: balances can still be paid, and a validator's owner can "
                       "disable it; a new L1 is needed for other validators";
    if (f->manager == CD_L1_MANAGER_NOWHERE) {
        add(h, CD_L1_WARNING, CD_L1_MANAGER,
            "its manager is on a chain that does not exist: validators can be neither added, removed nor weighted",
            help);
    } else if (!f->has_address) {
        add(h, CD_L1_WARNING, CD_L1_MANAGER,
            "the address of its manager is none of a contract: validators can be neither added, removed nor weighted",
            help);
    } else if (!h->standing.signs && h->standing.state != CD_L1_HALTS && f->manager == CD_L1_MANAGER_OWN) {
        add(h, CD_L1_WARNING, CD_L1_MANAGER,
            "less than 67% of the weight signs: messages of its manager are not taken, so validators cannot be changed",
            "bring validators back, or pay for them");
    }
}

static void find_silence(cd_l1_health *h, cd_arena *a, const cd_l1_facts *f)
{
    if (is_silent(f) && h->standing.state != CD_L1_HALTS) {
        add(h, CD_L1_NOTE, CD_L1_SILENT,
            cd_arena_fmt(a, "a quorum is there, and the last block is %s old",
                         cd_l1_span_text(a, f->now_s - f->last_block_s)),
            "perhaps nobody sent a transaction; if some wait, look at the logs of the validators for blocks that they "
            "refuse");
    }
}

static int worst_first(const void *a, const void *b)
{
    const cd_l1_finding *x = a;
    const cd_l1_finding *y = b;
    return x->severity != y->severity ? (int)y->severity - (int)x->severity : (int)x->cause - (int)y->cause;
}

void cd_l1_diagnose(cd_l1_health *out, cd_arena *a, const cd_l1_facts *f)
{
    cd_l1_health h = {.finding_cnt = 0};
    u64 pays = 0;
    cd_l1_stand(&h.standing, a, &f->quorum, f->v, f->cnt);
    cd_l1_look_ahead(&h.outlook, a, &f->quorum, f->v, f->cnt, f->within_s);
    for (usize i = 0; i < f->cnt; i++) {
        pays += f->v[i].balance != 0 ? f->v[i].weight : 0;
    }
    h.active_state = cd_l1_state_of(&f->quorum, pays, h.standing.total);
    if (f->cnt == 0) {
        add(&h, CD_L1_HALT, CD_L1_NO_VALIDATORS, "it has no validators: nothing is decided",
            "nothing brings it back: only its validators could sign that there are new ones");
    } else {
        find_balances(&h, a, f);
        find_concentration(&h, a, f);
        find_keyless(&h, a, f);
        find_away(&h, a, f);
        find_releases(&h, a, f);
        find_manager(&h, f);
        find_silence(&h, a, f);
    }
    qsort(h.findings, h.finding_cnt, sizeof *h.findings, worst_first);
    *out = h;
}

bool cd_l1_is_well(const cd_l1_health *h)
{
    return h->finding_cnt == 0 || h->findings[0].severity == CD_L1_NOTE; /* worst first */
}

/* --- as JSON --- */

static void put_member(cd_json_w *w, const cd_l1_member *m, bool has_reach)
{
    static const char *const reach[] = {"unknown", "connected", "unreachable"};
    cd_json_w_obj(w);
    cd_json_put_id(w, "validationID", &m->validation_id);
    cd_json_put_node_id(w, "nodeID", &m->node_id);
    cd_json_put_dec(w, "weight", m->weight);
    cd_json_put_dec(w, "balance", m->balance);
    cd_json_put_bool(w, "active", m->balance != 0);
    cd_json_put_bool(w, "hasKey", m->has_key);
    cd_json_put_cstr(w, "reach", reach[has_reach ? m->reach : CD_L1_REACH_UNKNOWN]);
    cd_json_put_dec(w, "secondsLeft", m->left_s);
    cd_json_put_dec(w, "secondsLeftAtWorst", m->worst_s);
    cd_json_w_obj_end(w);
}

void cd_l1_health_put(cd_json_w *w, cd_arena *a, const cd_l1_health *h, const cd_l1_facts *f, bool with_members)
{
    static const char *const states[] = {"runs", "slow", "halted"};
    static const char *const managers[] = {"own", "other", "nowhere"};
    const cd_l1_standing *s = &h->standing;
    cd_json_put_cstr(w, "state", states[s->state]);
    cd_json_put_cstr(w, "quorum", cd_l1_stand_text(a, s, f->cnt));
    cd_json_put_dec(w, "totalWeight", s->total);
    cd_json_put_dec(w, "votingWeight", s->there);
    cd_json_put_u64(w, "canFail", s->can_fail);
    cd_json_put_u64(w, "halting", s->halting);
    cd_json_put_bool(w, "signsMessages", s->signs);
    cd_json_put_cstr(w, "manager", managers[f->manager]);
    cd_json_put_bool(w, "managerIsContract", f->has_address);
    cd_json_put_u64(w, "validatorCount", f->cnt);
    cd_json_put_u64(w, "inactive", s->inactive);
    cd_json_put_u64(w, "unreachable", s->away);
    cd_json_put_dec(w, "firstBalanceEndsIn", h->outlook.first_s);
    cd_json_put_dec(w, "haltsIn", h->outlook.halt_s);
    cd_json_w_key(w, "findings");
    cd_json_w_arr(w);
    for (usize i = 0; i < h->finding_cnt; i++) {
        const cd_l1_finding *x = &h->findings[i];
        cd_json_w_obj(w);
        cd_json_put_cstr(w, "severity", cd_l1_severity_name(x->severity));
        cd_json_put_cstr(w, "cause", cd_l1_cause_name(x->cause));
        cd_json_put_cstr(w, "text", x->text);
        cd_json_put_cstr(w, "help", x->help);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
    if (with_members) {
        cd_json_w_key(w, "validators");
        cd_json_w_arr(w);
        for (usize i = 0; i < f->cnt; i++) {
            put_member(w, &f->v[i], f->has_reach);
        }
        cd_json_w_arr_end(w);
    }
}
