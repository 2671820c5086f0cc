#include "relay/core.h"

#include "base/mem/mem.h"

/* One side of a chain that answers or does not: after failures in a row nothing is asked before due_ms. */
typedef struct side {
    u32 fails;
    u64 due_ms;
} side;

typedef struct chain {
    /* as a source */
    side reading;
    bool is_source, is_asking, has_height;
    u64 height;
    u64 head_due_ms;
    usize waiting;
    /* as a destination */
    side taking;
    usize at_work;
    bool is_counting; /* NONCES runs */
    bool has_nonce;
    bool is_sorting; /* nothing is sent until what was sent is sorted out */
    u64 next_nonce;
    u64 accepted; /* as it was said last */
    u64 nonces_due_ms;
    u64 progress_ms; /* when accepted rose */
    u32 bump;
    u64 bump_ms;
    u32 turn; /* which route comes next */
} chain;

typedef struct route {
    cd_relay_route of;
    cd_relay_pos scanned;
    bool is_scanning;
    usize room;
    cd_relay_msg *first, *last;
    usize cnt;
} route;

struct cd_relay_core {
    cd_relay_limits limits;
    chain *chains;
    usize chain_cnt;
    route *routes;
    usize route_cnt;
    usize all;
    u64 wake_ms;
    cd_relay_msg *told;    /* freed by the next call */
    cd_relay_msg *settled; /* to be told */
    cd_relay_msg **settled_end;
};

static u32 or_else(u32 v, u32 dflt)
{
    return v != 0 ? v : dflt;
}

cd_relay_core *cd_relay_core_new(const cd_relay_limits *l, usize chain_cnt, const cd_relay_route *routes,
                                 usize route_cnt)
{
    cd_relay_core *c = cd_new(cd_relay_core);
    c->limits = (cd_relay_limits){
        .source_max = or_else(l->source_max, 1024),
        .all_max = or_else(l->all_max, 4096),
        .window = or_else(l->window, 128),
        .scan_blocks = or_else(l->scan_blocks, 1000),
        .attempts_max = or_else(l->attempts_max, 20),
        .head_ms = or_else(l->head_ms, 250),
        .nonces_ms = or_else(l->nonces_ms, 75),
        .back_off_ms = or_else(l->back_off_ms, 500),
        .back_off_max_ms = or_else(l->back_off_max_ms, 30000),
        .lost_ms = or_else(l->lost_ms, 3000),
        .stall_ms = or_else(l->stall_ms, 30000),
    };
    c->chain_cnt = chain_cnt;
    c->chains = cd_new_array(chain, chain_cnt);
    c->route_cnt = route_cnt;
    c->routes = cd_new_array(route, route_cnt);
    for (usize i = 0; i < route_cnt; i++) {
        c->routes[i] = (route){.of = routes[i], .scanned = routes[i].from};
        c->chains[routes[i].source].is_source = true;
    }
    for (usize i = 0; i < route_cnt; i++) {
        /* Each route has a part of its source's room: else one destination that hangs would take all of it. */
        usize shares = 0;
        for (usize k = 0; k < route_cnt; k++) {
            shares += routes[k].source == routes[i].source;
        }
        c->routes[i].room = cd_max_u64(1, cd_min_u64(c->limits.source_max / shares, c->limits.all_max / route_cnt));
    }
    c->settled_end = &c->settled;
    return c;
}

static void msg_free(cd_relay_msg *m)
{
    if (m != NULL) {
        cd_buf_fini(&m->signed_msg);
        cd_free(m);
    }
}

static void list_free(cd_relay_msg *m)
{
    while (m != NULL) {
        cd_relay_msg *next = m->next;
        msg_free(m);
        m = next;
    }
}

void cd_relay_core_free(cd_relay_core *c)
{
    if (c == NULL) {
        return;
    }
    for (usize i = 0; i < c->route_cnt; i++) {
        list_free(c->routes[i].first);
    }
    list_free(c->settled);
    msg_free(c->told);
    cd_free(c->routes);
    cd_free(c->chains);
    cd_free(c);
}

void cd_relay_begin(cd_relay_core *c, u32 at, cd_relay_pos from)
{
    c->routes[at].of.is_closed = false;
    c->routes[at].scanned = from;
}

/* --- failures and pauses --- */

static u64 pause_of(const cd_relay_core *c, u32 failures)
{
    u64 ms = c->limits.back_off_ms;
    for (u32 i = 1; i < failures && ms < c->limits.back_off_max_ms; i++) {
        ms *= 2;
    }
    return cd_min_u64(ms, c->limits.back_off_max_ms);
}

static void answered(cd_relay_core *c, side *s, bool is_answer, u64 now)
{
    s->fails = is_answer ? 0 : s->fails + 1;
    s->due_ms = is_answer ? 0 : now + pause_of(c, s->fails);
}

/* Whether its time has come; if not, the machine wakes then. */
static bool is_due(cd_relay_core *c, u64 at, u64 now)
{
    if (at > now) {
        c->wake_ms = cd_min_u64(c->wake_ms, at);
    }
    return at <= now;
}

/* --- messages --- */

static chain *source_of(cd_relay_core *c, const cd_relay_msg *m)
{
    return &c->chains[c->routes[m->route].of.source];
}

static chain *destination_of(cd_relay_core *c, const cd_relay_msg *m)
{
    return &c->chains[c->routes[m->route].of.destination];
}

static void settle(cd_relay_core *c, cd_relay_msg *m)
{
    route *r = &c->routes[m->route];
    *(m->prev != NULL ? &m->prev->next : &r->first) = m->next;
    *(m->next != NULL ? &m->next->prev : &r->last) = m->prev;
    r->cnt--;
    c->all--;
    source_of(c, m)->waiting--;
    m->prev = m->next = NULL;
    m->stage = CD_RELAY_SETTLED;
    *c->settled_end = m;
    c->settled_end = &m->next;
}

static void deliver(cd_relay_core *c, cd_relay_msg *m)
{
    destination_of(c, m)->at_work--;
    m->attempts = 0;
    settle(c, m);
}

/* Back into the queue for a while; a message that was refused too often is given up. */
static void put_off(cd_relay_core *c, cd_relay_msg *m, cd_relay_end end, u64 now)
{
    destination_of(c, m)->at_work--;
    m->has_nonce = false;
    m->failures++;
    m->attempts += end == CD_RELAY_REFUSED;
    if (m->attempts >= c->limits.attempts_max) {
        settle(c, m);
        return;
    }
    cd_buf_fini(&m->signed_msg); /* who validates may have changed */
    m->stage = CD_RELAY_QUEUED;
    m->due_ms = now + pause_of(c, m->failures);
}

static bool is_before(cd_relay_pos a, cd_relay_pos b)
{
    return a.block != b.block ? a.block < b.block : a.log < b.log;
}

cd_err cd_relay_found(cd_relay_core *c, u32 at, const cd_relay_msg *init, u64 now)
{
    route *r = &c->routes[at];
    chain *from = &c->chains[r->of.source];
    if (is_before(init->at, r->scanned)) {
        return CD_OK;
    }
    if (r->cnt >= r->room) {
        return CD_EFULL;
    }
    cd_relay_msg *m = cd_new(cd_relay_msg);
    m->at = init->at;
    m->id = init->id;
    m->warp_id = init->warp_id;
    m->gas = init->gas;
    m->route = at;
    m->found_ms = now;
    m->prev = r->last;
    *(r->last != NULL ? &r->last->next : &r->first) = m;
    r->last = m;
    r->cnt++;
    c->all++;
    from->waiting++;
    r->scanned = (cd_relay_pos){m->at.block, m->at.log + 1};
    return CD_OK;
}

cd_relay_pos cd_relay_cursor(const cd_relay_core *c, u32 at)
{
    const route *r = &c->routes[at];
    return r->first != NULL ? r->first->at : r->scanned;
}

/* --- how actions ended --- */

void cd_relay_head(cd_relay_core *c, u32 source, cd_relay_end end, u64 height, u64 now)
{
    chain *s = &c->chains[source];
    s->is_asking = false;
    answered(c, &s->reading, end == CD_RELAY_DONE, now);
    s->head_due_ms = now + c->limits.head_ms;
    if (end == CD_RELAY_DONE && (!s->has_height || height > s->height)) { /* one of several nodes may lag */
        s->has_height = true;
        s->height = height;
    }
}

void cd_relay_scanned(cd_relay_core *c, u32 at, cd_relay_end end, cd_relay_pos to, u64 now)
{
    route *r = &c->routes[at];
    r->is_scanning = false;
    answered(c, &c->chains[r->of.source].reading, end == CD_RELAY_DONE, now);
    if (end == CD_RELAY_DONE && is_before(r->scanned, to)) {
        r->scanned = to;
    }
}

/* The transactions of a destination, once it has said how many of them it has accepted, and knows without a gap. */
static void sort_open(cd_relay_core *c, u32 destination, u64 known, u64 now)
{
    chain *d = &c->chains[destination];
    bool is_lost = false;
    bool is_sending = false;
    u64 oldest_ms = now;
    for (usize i = 0; i < c->route_cnt; i++) {
        for (cd_relay_msg *m = c->routes[i].first; m != NULL && c->routes[i].of.destination == destination;
             m = m->next) {
            if (m->has_nonce && m->stage == CD_RELAY_OPEN && m->nonce < d->accepted) {
                m->stage = CD_RELAY_MINED;
                m->has_nonce = false;
            }
            oldest_ms = m->stage == CD_RELAY_OPEN ? cd_min_u64(oldest_ms, m->sent_ms) : oldest_ms;
            is_sending |= m->stage == CD_RELAY_SENDING;
            is_lost |= m->stage == CD_RELAY_OPEN && m->nonce >= known && now >= m->sent_ms + c->limits.lost_ms;
        }
    }
    bool is_stalled = now >= cd_max_u64(oldest_ms, d->progress_ms) + c->limits.stall_ms;
    d->is_sorting = is_lost || is_stalled;
    if (is_sending || !d->is_sorting) {
        return;
    }
    u64 from = is_stalled ? d->accepted : known;
    for (usize i = 0; i < c->route_cnt; i++) {
        for (cd_relay_msg *m = c->routes[i].first; m != NULL && c->routes[i].of.destination == destination;
             m = m->next) {
            if (m->has_nonce && m->nonce >= from && (m->stage == CD_RELAY_OPEN || m->stage == CD_RELAY_SENDABLE)) {
                m->stage = CD_RELAY_SENDABLE;
                m->has_nonce = false;
                m->due_ms = 0;
            }
        }
    }
    d->bump += d->bump < 16;
    d->bump_ms = now;
    d->next_nonce = from;
    d->progress_ms = now;
    d->is_sorting = false;
}

void cd_relay_nonces(cd_relay_core *c, u32 destination, cd_relay_end end, u64 accepted, u64 known, u64 now)
{
    chain *d = &c->chains[destination];
    d->is_counting = false;
    d->nonces_due_ms = now + c->limits.nonces_ms;
    answered(c, &d->taking, end == CD_RELAY_DONE, now);
    if (end != CD_RELAY_DONE) {
        return;
    }
    bool is_first = d->progress_ms == 0;
    if (is_first || accepted > d->accepted) {
        d->bump = now >= d->bump_ms + c->limits.stall_ms ? 0 : d->bump;
        d->progress_ms = cd_max_u64(1, now);
        d->accepted = accepted;
    }
    if (!d->has_nonce) {
        /* Transactions of an earlier life come first: what they bring must not be sent again. */
        bool is_stalled = now >= d->progress_ms + c->limits.stall_ms;
        d->has_nonce = known <= accepted || is_stalled;
        d->next_nonce = accepted;
        d->bump = d->has_nonce && known > accepted ? 1 : 0;
        d->bump_ms = now;
        d->progress_ms = d->has_nonce ? cd_max_u64(1, now) : d->progress_ms;
        return;
    }
    d->next_nonce = cd_max_u64(d->next_nonce, accepted); /* somebody else has used the key */
    sort_open(c, destination, cd_max_u64(known, accepted), now);
}

void cd_relay_checked(cd_relay_core *c, cd_relay_msg *m, cd_relay_end end, bool was_received, u64 now)
{
    answered(c, &destination_of(c, m)->taking, end != CD_RELAY_UNREACHABLE, now);
    if (end == CD_RELAY_DONE && was_received) {
        deliver(c, m);
    } else if (end != CD_RELAY_DONE) {
        put_off(c, m, end, now);
    } else if (m->sent_ms != 0) {
        m->sent_ms = 0; /* its transaction is in a block and did not bring it */
        put_off(c, m, CD_RELAY_REFUSED, now);
    } else {
        m->stage = CD_RELAY_SIGNABLE;
        m->due_ms = 0;
    }
}

void cd_relay_signed(cd_relay_core *c, cd_relay_msg *m, cd_relay_end end, u64 now)
{
    answered(c, &source_of(c, m)->reading, end != CD_RELAY_UNREACHABLE, now);
    if (end != CD_RELAY_DONE) {
        put_off(c, m, end, now);
        return;
    }
    m->stage = CD_RELAY_SENDABLE;
    m->due_ms = 0;
}

void cd_relay_sent(cd_relay_core *c, cd_relay_msg *m, cd_relay_end end, u64 now)
{
    chain *d = destination_of(c, m);
    answered(c, &d->taking, end != CD_RELAY_UNREACHABLE, now);
    m->sent_ms = cd_max_u64(1, now);
    if (end == CD_RELAY_DONE) {
        m->stage = CD_RELAY_OPEN;
        m->failures = 0;
    } else if (end == CD_RELAY_UNREACHABLE) {
        /* It may have arrived: the same transaction again. */
        m->failures++;
        m->stage = CD_RELAY_SENDABLE;
        m->due_ms = now + pause_of(c, m->failures);
    } else if (end == CD_RELAY_TOO_LATE) {
        m->stage = CD_RELAY_MINED;
        m->has_nonce = false;
        m->sent_ms = 0;
        d->nonces_due_ms = 0;
    } else {
        /* Its nonce is free again; those behind it are found by the next count. */
        if (m->nonce + 1 == d->next_nonce) {
            d->next_nonce--;
        }
        m->sent_ms = 0;
        put_off(c, m, CD_RELAY_REFUSED, now);
    }
}

/* --- what is next --- */

static bool next_told(cd_relay_core *c, cd_relay_action *out)
{
    cd_relay_msg *m = c->settled;
    if (m == NULL) {
        return false;
    }
    c->settled = m->next;
    c->settled_end = c->settled == NULL ? &c->settled : c->settled_end;
    m->next = NULL;
    c->told = m;
    const route *r = &c->routes[m->route];
    *out = (cd_relay_action){.what = CD_RELAY_TELL,
                             .msg = m,
                             .route = m->route,
                             .source = r->of.source,
                             .destination = r->of.destination,
                             .was_delivered = m->attempts < c->limits.attempts_max};
    return true;
}

static bool next_of_source(cd_relay_core *c, cd_relay_action *out, u32 source, u64 now)
{
    chain *s = &c->chains[source];
    if (!s->is_source || !is_due(c, s->reading.due_ms, now)) {
        return false;
    }
    if (!s->is_asking && is_due(c, s->head_due_ms, now)) {
        s->is_asking = true;
        *out = (cd_relay_action){.what = CD_RELAY_HEAD, .source = source};
        return true;
    }
    return false;
}

static bool next_scan(cd_relay_core *c, cd_relay_action *out, u32 at, u64 now)
{
    route *r = &c->routes[at];
    chain *s = &c->chains[r->of.source];
    if (r->of.is_closed || r->is_scanning || !s->has_height || r->scanned.block > s->height ||
        !is_due(c, s->reading.due_ms, now) ||
        r->cnt > r->room / 2) { /* until half of it is done, so that a full queue is not one scan a message */
        return false;
    }
    r->is_scanning = true;
    *out = (cd_relay_action){.what = CD_RELAY_SCAN,
                             .source = r->of.source,
                             .destination = r->of.destination,
                             .route = at,
                             .from = r->scanned,
                             .to = cd_min_u64(s->height, r->scanned.block + c->limits.scan_blocks - 1)};
    return true;
}

/* The next step of a message that is at work. */
static bool next_step(cd_relay_core *c, cd_relay_action *out, cd_relay_msg *m, u64 now)
{
    chain *d = destination_of(c, m);
    chain *s = source_of(c, m);
    const route *r = &c->routes[m->route];
    *out = (cd_relay_action){
        .msg = m, .route = m->route, .source = r->of.source, .destination = r->of.destination, .bump = d->bump};
    switch (m->stage) {
    case CD_RELAY_MINED:
        if (!is_due(c, d->taking.due_ms, now)) {
            return false;
        }
        m->stage = CD_RELAY_CHECKING;
        out->what = CD_RELAY_CHECK;
        return true;
    case CD_RELAY_SIGNABLE:
        if (!is_due(c, s->reading.due_ms, now)) {
            return false;
        }
        m->stage = CD_RELAY_SIGNING;
        out->what = CD_RELAY_SIGN;
        return true;
    case CD_RELAY_SENDABLE:
        if (!d->has_nonce || d->is_sorting || !is_due(c, m->due_ms, now) || !is_due(c, d->taking.due_ms, now)) {
            return false;
        }
        m->nonce = m->has_nonce ? m->nonce : d->next_nonce++;
        m->has_nonce = true;
        m->stage = CD_RELAY_SENDING;
        out->what = CD_RELAY_SEND;
        out->nonce = m->nonce;
        return true;
    case CD_RELAY_QUEUED:
    case CD_RELAY_CHECKING:
    case CD_RELAY_SIGNING:
    case CD_RELAY_SENDING:
    case CD_RELAY_OPEN:
    case CD_RELAY_SETTLED:
        return false;
    }
    return false;
}

/* A message out of the queue, as long as there is room at its destination; only one while that does not answer. */
static bool next_start(cd_relay_core *c, cd_relay_action *out, cd_relay_msg *m, u64 now)
{
    chain *d = destination_of(c, m);
    usize window = d->taking.fails == 0 ? c->limits.window : 1;
    if (m->stage != CD_RELAY_QUEUED || !d->has_nonce || d->at_work >= window || !is_due(c, m->due_ms, now) ||
        !is_due(c, d->taking.due_ms, now)) {
        return false;
    }
    const route *r = &c->routes[m->route];
    d->at_work++;
    m->stage = CD_RELAY_CHECKING;
    *out = (cd_relay_action){
        .what = CD_RELAY_CHECK, .msg = m, .route = m->route, .source = r->of.source, .destination = r->of.destination};
    return true;
}

static bool next_nonces(cd_relay_core *c, cd_relay_action *out, u32 destination, bool is_wanted, u64 now)
{
    chain *d = &c->chains[destination];
    if (!is_wanted || d->is_counting || !is_due(c, d->taking.due_ms, now) || !is_due(c, d->nonces_due_ms, now)) {
        return false;
    }
    d->is_counting = true;
    *out = (cd_relay_action){.what = CD_RELAY_NONCES, .destination = destination};
    return true;
}

static bool next_of_destination(cd_relay_core *c, cd_relay_action *out, u32 destination, u64 now)
{
    chain *d = &c->chains[destination];
    bool is_open = false;
    bool is_wanted = false;
    for (usize k = 0; k < c->route_cnt; k++) {
        const route *r = &c->routes[(k + d->turn) % c->route_cnt];
        usize window = d->taking.fails == 0 ? c->limits.window : 1;
        for (cd_relay_msg *m = r->first; m != NULL && r->of.destination == destination; m = m->next) {
            if (m->stage == CD_RELAY_QUEUED && d->at_work >= window) {
                continue;
            }
            if (next_step(c, out, m, now)) {
                return true;
            }
            if (next_start(c, out, m, now)) {
                d->turn = (u32)(((k + d->turn) % c->route_cnt + 1) % c->route_cnt);
                return true;
            }
            is_open |= m->stage == CD_RELAY_OPEN;
            is_wanted = true;
        }
    }
    return next_nonces(c, out, destination, is_open || (is_wanted && !d->has_nonce), now);
}

bool cd_relay_next(cd_relay_core *c, cd_relay_action *out, u64 now)
{
    c->wake_ms = UINT64_MAX;
    msg_free(c->told);
    c->told = NULL;
    if (next_told(c, out)) {
        return true;
    }
    for (u32 i = 0; i < c->chain_cnt; i++) {
        if (next_of_source(c, out, i, now)) {
            return true;
        }
    }
    for (u32 i = 0; i < c->route_cnt; i++) {
        if (next_scan(c, out, i, now)) {
            return true;
        }
    }
    for (u32 i = 0; i < c->chain_cnt; i++) {
        if (next_of_destination(c, out, i, now)) {
            return true;
        }
    }
    return false;
}

u64 cd_relay_wake(const cd_relay_core *c)
{
    return c->wake_ms;
}

cd_relay_look cd_relay_look_at(const cd_relay_core *c, u32 at)
{
    const chain *x = &c->chains[at];
    return (cd_relay_look){.waiting = x->waiting,
                           .at_work = x->at_work,
                           .height = x->height,
                           .source_fails = x->reading.fails,
                           .destination_fails = x->taking.fails};
}
