#include "consensus/council.h"

#include "base/mem/mem.h"
#include "consensus/snow/snowman.h"
#include "consensus/solo.h"
#include "crypto/hash/sha2.h"

#include <stdlib.h>

enum {
    DRAWS = 4,    /* of each validator in a poll, on average: five validators are polled as the network's are */
    ROUNDS = 100, /* of messages and ticks, after which the validators will not agree any more */
    WORDS =
        200000, /* messages of a block, likewise: some 2,000 when five agree at once; polls without an end have more */
};

typedef enum kind { PUSH_QUERY, PULL_QUERY, CHITS, GET, PUT } kind;

/* What one validator says to another. */
typedef struct message {
    kind kind;
    u32 from;
    u32 to;
    u32 request;
    cd_hash32 id;
    u64 height;
    cd_snow_chits chits;
    u8 *bytes; /* of a block; owned */
    usize n;
} message;

typedef struct council council;

typedef struct member {
    cd_snow_net net; /* first */
    council *all;
    u32 idx;
    cd_node_id id;
    cd_vm *vm; /* NULL: not open */
    cd_commit_door door;
    cd_engine *engine;
    cd_rng rng;
} member;

struct council {
    cd_engine engine; /* first */
    cd_council_cfg cfg;
    cd_vm_validators voters;
    member *members;
    cd_engine *alone; /* decides while the first starts; NULL: all decide */
    message *queue;   /* those before place at are delivered */
    usize at;
    usize queued;
    usize room;
    bool is_due;
    bool is_busy; /* inside produce or rewind, neither of which may be called again then */
};

static council *council_of(cd_engine *e)
{
    return (council *)(void *)e;
}

/* --- who validates: all, each with the same weight --- */

static const council *of_voters(const cd_vm_validators *v)
{
    return (const council *)(const void *)((const u8 *)v - offsetof(council, voters));
}

static cd_err height_0(const cd_vm_validators *v, u64 *height)
{
    (void)v;
    *height = 0;
    return CD_OK;
}

static cd_err subnet_0(const cd_vm_validators *v, cd_hash32 *subnet, const cd_hash32 *chain)
{
    (void)v;
    (void)chain;
    *subnet = (cd_hash32){0};
    return CD_OK;
}

static int by_id(const void *a, const void *b)
{
    return memcmp(((const cd_vm_validator *)a)->node_id.b, ((const cd_vm_validator *)b)->node_id.b, sizeof(cd_node_id));
}

static cd_err voters_at(const cd_vm_validators *v, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                        const cd_hash32 *subnet, u64 height)
{
    const council *c = of_voters(v);
    cd_vm_validator *all = cd_arena_array(a, cd_vm_validator, c->cfg.cnt);
    (void)subnet;
    (void)height;
    for (u32 i = 0; i < c->cfg.cnt; i++) {
        all[i] = (cd_vm_validator){.node_id = c->members[i].id, .weight = 1};
    }
    qsort(all, c->cfg.cnt, sizeof *all, by_id);
    *out = all;
    *cnt = c->cfg.cnt;
    return CD_OK;
}

/* --- the queue --- */

static u32 idx_of(const council *c, const cd_node_id *id)
{
    u32 i = 0;
    while (i < c->cfg.cnt && memcmp(c->members[i].id.b, id->b, sizeof id->b) != 0) {
        i++;
    }
    CD_ASSERT(i < c->cfg.cnt);
    return i;
}

static void say(const cd_snow_net *n, u32 to, const message *what, cd_bytes block)
{
    const member *m = (const member *)(const void *)n;
    council *c = m->all;
    if (c->queued == c->room) {
        c->room = c->room == 0 ? 64 : 2 * c->room;
        c->queue = cd_realloc(c->queue, c->room * sizeof *c->queue);
    }
    message *at = &c->queue[c->queued++];
    *at = *what;
    at->from = m->idx;
    at->to = to;
    if (block.n != 0) {
        at->bytes = memcpy(cd_alloc(block.n), block.p, block.n);
        at->n = block.n;
    }
}

/* A new block is shown to all at once, also to those who are not asked for their vote, which then does not count: when
 * the first accepts it the others have verified it, by what the chains had left for each other until then. */
static void say_push_query(const cd_snow_net *n, const cd_node_id *to, u32 cnt, u32 request, cd_bytes block, u64 height)
{
    const member *m = (const member *)(const void *)n;
    const message what = {.kind = PUSH_QUERY, .request = request, .height = height};
    (void)to;
    (void)cnt;
    for (u32 i = 0; i < m->all->cfg.cnt; i++) {
        if (i != m->idx) {
            say(n, i, &what, block);
        }
    }
}

static void say_pull_query(const cd_snow_net *n, const cd_node_id *to, u32 cnt, u32 request, const cd_hash32 *id,
                           u64 height)
{
    const member *m = (const member *)(const void *)n;
    const message what = {.kind = PULL_QUERY, .request = request, .id = *id, .height = height};
    for (u32 i = 0; i < cnt; i++) {
        say(n, idx_of(m->all, &to[i]), &what, (cd_bytes){0});
    }
}

static void say_chits(const cd_snow_net *n, const cd_node_id *to, u32 request, const cd_snow_chits *chits)
{
    const message what = {.kind = CHITS, .request = request, .chits = *chits};
    say(n, idx_of(((const member *)(const void *)n)->all, to), &what, (cd_bytes){0});
}

static void say_get(const cd_snow_net *n, const cd_node_id *to, u32 request, const cd_hash32 *id)
{
    const message what = {.kind = GET, .request = request, .id = *id};
    say(n, idx_of(((const member *)(const void *)n)->all, to), &what, (cd_bytes){0});
}

static void say_put(const cd_snow_net *n, const cd_node_id *to, u32 request, cd_bytes block)
{
    const message what = {.kind = PUT, .request = request};
    say(n, idx_of(((const member *)(const void *)n)->all, to), &what, block);
}

static void hear(council *c, const message *m)
{
    cd_engine *e = c->members[m->to].engine;
    const cd_node_id *from = &c->members[m->from].id;
    switch (m->kind) {
    case PUSH_QUERY:
        cd_snowman_push_query(e, from, m->request, cd_bytes_of(m->bytes, m->n), m->height);
        return;
    case PULL_QUERY:
        cd_snowman_pull_query(e, from, m->request, &m->id, m->height);
        return;
    case CHITS:
        cd_snowman_chits(e, from, m->request, &m->chits);
        return;
    case GET:
        cd_snowman_get(e, from, m->request, &m->id);
        return;
    case PUT:
        cd_snowman_put(e, from, m->request, cd_bytes_of(m->bytes, m->n));
        return;
    }
    CD_UNREACHABLE();
}

static void deliver(council *c, u32 *words)
{
    while (c->at < c->queued && *words < WORDS) {
        (*words)++;
        if (c->at == c->queued / 2 && c->at >= 1024) { /* the queue does not grow with what is said in all */
            memmove(c->queue, c->queue + c->at, (c->queued - c->at) * sizeof *c->queue);
            c->queued -= c->at;
            c->at = 0;
        }
        message m = c->queue[c->at++]; /* hearing it may move the queue */
        hear(c, &m);
        cd_free(m.bytes);
    }
}

static void forget_messages(council *c)
{
    while (c->at < c->queued) {
        cd_free(c->queue[c->at++].bytes);
    }
    c->at = 0;
    c->queued = 0;
}

/* --- agreeing --- */

/* Nothing is undecided, and all have accepted the same. */
static bool is_agreed(const council *c)
{
    cd_hash32 first;
    u64 height;
    bool is_good = true;
    cd_snowman_last(c->members[0].engine, &first, &height);
    for (u32 i = 0; i < c->cfg.cnt && is_good; i++) {
        cd_snowman_load load = cd_snowman_load_get(c->members[i].engine);
        cd_hash32 last;
        cd_snowman_last(c->members[i].engine, &last, &height);
        is_good = load.undecided == 0 && load.pending == 0 && !load.is_halted && cd_hash32_eq(&first, &last);
    }
    return is_good;
}

static bool is_halted(const council *c)
{
    bool is = false;
    for (u32 i = 0; i < c->cfg.cnt; i++) {
        is = is || cd_snowman_load_get(c->members[i].engine).is_halted;
    }
    return is;
}

static cd_err agree(council *c, cd_errinfo *why)
{
    u32 words = 0;
    deliver(c, &words);
    for (u32 i = 0; i < ROUNDS && words < WORDS && !is_agreed(c) && !is_halted(c); i++) {
        for (u32 k = 0; k < c->cfg.cnt; k++) {
            cd_snowman_tick(c->members[k].engine);
        }
        deliver(c, &words);
    }
    forget_messages(c);
    if (is_halted(c)) {
        return cd_fail(why, CD_EIO, "a validator's store takes no more blocks");
    }
    return is_agreed(c) ? CD_OK : cd_fail(why, CD_ETIMEOUT, "the validators do not agree");
}

static cd_err start_engines(council *c, cd_errinfo *why)
{
    for (u32 i = 0; i < c->cfg.cnt; i++) {
        cd_engine *e = c->members[i].engine;
        CD_TRY(e->ops->start(e, c->members[i].vm, why));
        for (u32 k = 0; k < c->cfg.cnt; k++) {
            if (k != i) {
                cd_snowman_connected(e, &c->members[k].id);
            }
        }
    }
    return CD_OK;
}

static void stop_engines(council *c)
{
    for (u32 i = 0; i < c->cfg.cnt; i++) {
        cd_engine *e = c->members[i].engine;
        if (e != NULL) {
            e->ops->stop(e);
        }
    }
    forget_messages(c);
}

/* Figures are the first's. */
static void count(council *c)
{
    u64 rewound = c->engine.stats.rewound;
    c->engine.stats = c->members[0].engine->stats;
    c->engine.stats.rewound = rewound;
}

static cd_err make_block(council *c, cd_errinfo *why)
{
    cd_hash32 before;
    cd_hash32 after;
    u64 height;
    cd_snowman_last(c->members[0].engine, &before, &height);
    CD_TRY(cd_snowman_propose(c->members[0].engine, why));
    cd_err e = agree(c, why);
    if (e != CD_OK) {
        stop_engines(c); /* what is undecided would stand in the way of the next one */
        (void)!start_engines(c, NULL);
        return e;
    }
    cd_snowman_last(c->members[0].engine, &after, &height);
    return cd_hash32_eq(&before, &after) ? cd_fail(why, CD_EINVAL, "the validators refused the block") : CD_OK;
}

static cd_err council_produce(cd_engine *e, cd_errinfo *why)
{
    council *c = council_of(e);
    if (c->alone != NULL) {
        return c->alone->ops->produce(c->alone, why);
    }
    if (c->is_busy) {
        return cd_fail(why, CD_EBUSY, "a block is being made");
    }
    c->is_busy = true;
    cd_err err = make_block(c, why);
    count(c);
    c->is_busy = false;
    return err;
}

/* --- beginning and ending --- */

static cd_err council_rewind(cd_engine *e, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why)
{
    council *c = council_of(e);
    if (c->alone != NULL) {
        return c->alone->ops->rewind(c->alone, job, arg, why);
    }
    if (c->is_busy) {
        return cd_fail(why, CD_EBUSY, "a block is being made");
    }
    c->is_busy = true;
    stop_engines(c);
    cd_err err = job(arg, why);
    cd_err again = start_engines(c, err == CD_OK ? why : NULL);
    c->engine.stats.rewound++;
    c->is_busy = false;
    return err != CD_OK ? err : again;
}

static cd_err start_alone(council *c, cd_vm *vm, cd_errinfo *why)
{
    const cd_solo_cfg cfg = {.door = c->cfg.door, .log = c->cfg.log, .name = c->cfg.name};
    c->alone = cd_solo_new(&cfg);
    cd_err e = c->alone->ops->start(c->alone, vm, why);
    if (e == CD_OK) {
        c->alone->ops->stop(c->alone);
    }
    cd_solo_free(c->alone);
    c->alone = NULL;
    return e;
}

static cd_err open_member(council *c, u32 idx, cd_errinfo *why)
{
    member *m = &c->members[idx];
    if (idx != 0) {
        CD_TRY(c->cfg.open(c->cfg.ctx, idx, &m->vm, &m->door, why));
    }
    const cd_snowman_cfg cfg = {
        .door = m->door,
        .params =
            {
                .k = DRAWS * c->cfg.cnt,
                .alpha_preference = DRAWS * c->cfg.cnt * 7 / 10,
                .alpha_confidence = DRAWS * c->cfg.cnt * 7 / 10,
                .beta = cd_snow_params_default().beta,
                .concurrent_repolls = cd_snow_params_default().concurrent_repolls,
                .optimal_processing = cd_snow_params_default().optimal_processing,
            },
        .net = &m->net,
        .validators = &c->voters,
        .self = m->id,
        .rng = &m->rng,
        .log = c->cfg.log,
        .name = c->cfg.name,
    };
    return cd_snowman_new(&m->engine, &cfg, why);
}

/* The others end before the first, whom they know. */
static void close_members(council *c)
{
    stop_engines(c);
    for (u32 i = c->cfg.cnt; i-- > 0;) {
        member *m = &c->members[i];
        cd_snowman_free(m->engine);
        m->engine = NULL;
        if (i != 0 && m->vm != NULL) {
            m->vm->ops->close(m->vm);
        }
        if (i != 0) {
            c->cfg.close(c->cfg.ctx, i);
        }
        m->vm = NULL;
    }
}

static cd_err council_start(cd_engine *e, cd_vm *vm, cd_errinfo *why)
{
    council *c = council_of(e);
    CD_TRY(start_alone(c, vm, why));
    c->members[0].vm = vm;
    c->members[0].door = c->cfg.door;
    cd_err err = CD_OK;
    for (u32 i = 0; i < c->cfg.cnt && err == CD_OK; i++) {
        err = open_member(c, i, why);
    }
    if (err == CD_OK) {
        err = start_engines(c, why);
    }
    if (err != CD_OK) {
        close_members(c);
    }
    return err;
}

static void council_notify(cd_engine *e, cd_vm_event event)
{
    if (event == CD_VM_WANTS_BLOCK) {
        council_of(e)->is_due = true;
    }
}

static bool council_step(cd_engine *e)
{
    council *c = council_of(e);
    cd_errinfo why = {0};
    if (!c->is_due) {
        return false;
    }
    cd_err err = council_produce(e, &why);
    c->is_due = err == CD_OK;
    cd_engine_no_block(c->cfg.log, c->cfg.name, err, &why);
    return c->is_due;
}

static void council_stop(cd_engine *e)
{
    close_members(council_of(e));
}

static const cd_engine_ops ops = {
    .start = council_start,
    .notify = council_notify,
    .produce = council_produce,
    .rewind = council_rewind,
    .step = council_step,
    .stop = council_stop,
};

/* --- the object --- */

void cd_council_node_id(cd_node_id *out, const cd_node_id *self, u32 idx)
{
    cd_hash32 h;
    cd_buf text = {0};
    *out = *self;
    if (idx == 0) {
        return;
    }
    cd_buf_fmt(&text, "candela validator %u of ", idx);
    cd_buf_put(&text, cd_bytes_of(self->b, sizeof self->b));
    cd_sha256(&h, cd_buf_bytes(&text));
    memcpy(out->b, h.b, sizeof out->b);
    cd_buf_fini(&text);
}

cd_err cd_council_new(cd_engine **out, const cd_council_cfg *cfg, cd_errinfo *why)
{
    if (cfg->cnt < 2 || cfg->cnt > CD_COUNCIL_MAX) {
        return cd_fail(why, CD_EINVAL, "2 to %d validators, not %u", CD_COUNCIL_MAX, cfg->cnt);
    }
    council *c = cd_new(council);
    c->engine.ops = &ops;
    c->cfg = *cfg;
    c->voters = (cd_vm_validators){
        .current = height_0,
        .minimum = height_0,
        .subnet_of = subnet_0,
        .at = voters_at,
    };
    c->members = cd_new_array(member, cfg->cnt);
    for (u32 i = 0; i < cfg->cnt; i++) {
        member *m = &c->members[i];
        *m = (member){
            .net =
                {
                    .push_query = say_push_query,
                    .pull_query = say_pull_query,
                    .chits = say_chits,
                    .get = say_get,
                    .put = say_put,
                },
            .all = c,
            .idx = i,
            .rng = cd_rng_seeded(cd_rng_u64(cfg->rng)),
        };
        cd_council_node_id(&m->id, &cfg->self, i);
    }
    *out = &c->engine;
    return CD_OK;
}

void cd_council_free(cd_engine *e)
{
    if (e != NULL) {
        council *c = council_of(e);
        forget_messages(c);
        cd_free(c->queue);
        cd_free(c->members);
        cd_free(c);
    }
}
