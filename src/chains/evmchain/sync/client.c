#include "chains/evmchain/sync/client.h"

#include "base/mem/mem.h"
#include "chains/evmchain/sync/client_priv.h"

/* Between two looks while peers are asked; without an answer that helps for so long, and after so many questions, the
 * sync has come to nothing. */
#define LOOK_NS     (100 * CD_NS_PER_MS)
#define PATIENCE_NS (30 * CD_NS_PER_SEC)
enum { BAD_MIN = 8 };

cd_sync_client *cd_sync_client_new(const cd_sync_client_cfg *cfg)
{
    cd_sync_client *c = cd_new(cd_sync_client);
    c->cfg = *cfg;
    c->adopt = cd_adopt_new(cfg->kv);
    c->part = cd_adopt_kv(cfg->kv);
    cd_hmap_init(&c->peers, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(cd__peer));
    return c;
}

void cd_sync_client_free(cd_sync_client *c)
{
    if (c != NULL) {
        cd_hmap_fini(&c->peers);
        cd_kv_batch_fini(&c->batch);
        cd_kv_close(c->part);
        cd_adopt_free(c->adopt);
        cd_free(c);
    }
}

cd_err cd_sync_client_ongoing(const cd_sync_client *c, cd_sync_summary *out)
{
    cd_adopt_target t;
    CD_TRY(cd_adopt_get(c->cfg.kv, &t));
    if (t.phase == CD_ADOPT_SWEEPS) {
        return CD_ENOENT;
    }
    *out = (cd_sync_summary){.height = t.height, .hash = t.hash, .root = t.root, .atomic_root = t.atomic_root};
    return CD_OK;
}

static bool is_same(const cd_adopt_target *t, const cd_sync_summary *s)
{
    return t->phase != CD_ADOPT_SWEEPS && t->height == s->height && cd_hash32_eq(&t->hash, &s->hash) &&
           cd_hash32_eq(&t->root, &s->root) && cd_hash32_eq(&t->atomic_root, &s->atomic_root);
}

cd_err cd_sync_client_begin(cd_sync_client *c, const cd_sync_summary *s, cd_errinfo *why)
{
    cd_adopt_target t;
    cd_err e = cd_adopt_get(c->cfg.kv, &t);
    if (e != CD_OK && e != CD_ENOENT) {
        return cd_fail(why, e, "what was synced before cannot be read: %s", cd_err_str(e));
    }
    bool goes_on = e == CD_OK && is_same(&t, s);
    if (!goes_on) {
        t = (cd_adopt_target){.height = s->height, .hash = s->hash, .root = s->root, .atomic_root = s->atomic_root};
        CD_TRY(cd_adopt_begin(c->adopt, &t, why));
    }
    cd_log_info(c->cfg.log, goes_on ? "the sync of the state goes on where it was" : "the sync of the state begins",
                CD_F("chain", c->cfg.name), CD_F("height", s->height));
    c->target = t;
    c->is_active = true;
    c->is_loaded = false;
    c->is_applying = false;
    c->is_side_built = false;
    c->phase = t.phase;
    c->good_ns = cd__sync_now(c);
    c->bad_cnt = 0;
    return CD_OK;
}

/* Nothing is asked any more; open questions are nobody's. */
static void end(cd_sync_client *c)
{
    void *val;
    c->is_active = false;
    c->is_loaded = false;
    c->is_applying = false;
    c->open = 0;
    memset(c->tasks, 0, sizeof c->tasks);
    for (usize it = 0; cd_hmap_next(&c->peers, &it, NULL, &val);) {
        ((cd__peer *)val)->open = 0;
    }
    c->cfg.over(c->cfg.ctx);
}

static void give_up(cd_sync_client *c, cd_err e, const cd_errinfo *why)
{
    cd_log_error(c->cfg.log, "the sync of the state stops", CD_F("chain", c->cfg.name),
                 CD_F("height", c->target.height),
                 CD_F("error", why->msg[0] != '\0' ? (const char *)why->msg : cd_err_str(e)));
    end(c);
}

/* --- gathering --- */

static void begin_gathering(cd_sync_client *c)
{
    c->is_loaded = true;
    c->begun_ns = cd__sync_now(c);
    c->good_ns = c->begun_ns;
    c->begun_part = cd__work_part(c);
}

/* Nobody has helped for long: the summary is too old for all, or all lie. */
static bool is_hopeless(const cd_sync_client *c)
{
    u32 left = cd__peers_left(c);
    bool is_late = cd__sync_now(c) - c->good_ns >= PATIENCE_NS;
    bool all_failed = c->bad_cnt != 0 || c->stats.lies != 0; /* else nobody was there to ask */
    return is_late && (left == 0 ? all_failed : c->bad_cnt >= cd_max_u64(BAD_MIN, (u64)3 * left));
}

static cd_err gather(cd_sync_client *c, cd_errinfo *why)
{
    if (!c->is_loaded) {
        CD_TRY(cd__work_load(c));
        begin_gathering(c);
    }
    CD_TRY(cd__work_fill(c));
    if (cd__work_is_done(c) && c->cfg.side != NULL && !c->is_side_built) {
        bool more = true;
        CD_TRY(c->cfg.side->build(c->cfg.side->ctx, c->target.height, &c->target.atomic_root, &more, why));
        c->is_side_built = !more;
        return CD_OK;
    }
    if (cd__work_is_done(c)) {
        return cd_adopt_gathered(c->adopt, why);
    }
    if (is_hopeless(c)) {
        return cd_fail(why, CD_EAGAIN, "no peer has this state any more, or none that tells the truth");
    }
    cd__work_ask(c);
    return CD_OK;
}

/* --- phases --- */

static void tell_adopted(cd_sync_client *c)
{
    cd_errinfo why = {0};
    cd_err e = c->cfg.adopted(c->cfg.ctx, &c->target.hash, c->target.height, &why);
    if (e != CD_OK) {
        give_up(c, e, &why);
        return;
    }
    c->is_applying = true;
}

/* What imports and exports did elsewhere; then it is over. */
static void apply(cd_sync_client *c)
{
    cd_errinfo why = {0};
    bool more = false;
    const cd_sync_side *side = c->cfg.side;
    cd_err e = side == NULL ? CD_OK : side->apply(side->ctx, c->target.height, &more, &why);
    if (e != CD_OK) {
        give_up(c, e, &why);
        return;
    }
    if (more) {
        return;
    }
    cd_log_info(c->cfg.log, "the state is here", CD_F("chain", c->cfg.name), CD_F("height", c->target.height),
                CD_F("accounts", c->stats.accounts), CD_F("slots", c->stats.slots), CD_F("codes", c->stats.codes),
                CD_F("asked", c->stats.asked), CD_F("refused", c->stats.refused), CD_F("lies", c->stats.lies));
    end(c);
}

u64 cd_sync_client_wake(cd_sync_client *c)
{
    cd_adopt_phase phase;
    cd_errinfo why = {0};
    bool more = false;
    u64 now = cd__sync_now(c);
    if (!c->is_active) {
        /* What a sync that is over has left goes away; one that was stopped waits for its summary. */
        cd_adopt_target t;
        bool sweeps = cd_adopt_get(c->cfg.kv, &t) == CD_OK && t.phase == CD_ADOPT_SWEEPS;
        bool is_fine = sweeps && cd_adopt_step(c->adopt, &phase, &more, &why) == CD_OK;
        return is_fine && more ? now + LOOK_NS / 10 : UINT64_MAX;
    }
    if (c->is_applying) {
        apply(c);
        return now;
    }
    cd_err e = c->phase == CD_ADOPT_GATHERS ? gather(c, &why) : CD_OK;
    if (e == CD_OK) {
        e = cd_adopt_step(c->adopt, &phase, &more, &why);
    }
    if (e != CD_OK) {
        give_up(c, e, &why);
        return UINT64_MAX;
    }
    c->phase = phase;
    if (phase == CD_ADOPT_SWEEPS) {
        tell_adopted(c);
    }
    return phase == CD_ADOPT_GATHERS && c->is_loaded ? now + LOOK_NS : now;
}

/* --- what peers say --- */

static cd__task *asked_of(cd_sync_client *c, const cd_node_id *from, u32 request_id)
{
    for (u32 i = 0; i < CD__TASKS && c->is_active; i++) {
        cd__task *t = &c->tasks[i];
        if (t->kind != CD__TASK_NONE && t->is_asked && t->request == request_id &&
            memcmp(t->from.b, from->b, sizeof from->b) == 0) {
            return t;
        }
    }
    return NULL;
}

/* A question is open no more. */
static void closed(cd_sync_client *c, cd__task *t)
{
    cd__peer *p = cd__peer_of(c, &t->from);
    t->is_asked = false;
    c->open--;
    if (p != NULL && p->open != 0) {
        p->open--;
    }
}

bool cd_sync_client_response(cd_sync_client *c, const cd_node_id *from, u32 request_id, cd_bytes msg)
{
    cd__task *t = asked_of(c, from, request_id);
    cd_errinfo why = {0};
    usize items = 0;
    bool is_lie;
    if (t == NULL) {
        return request_id >= CD__FIRST_REQUEST; /* of a sync that is over */
    }
    closed(c, t);
    cd_err e = cd__work_take(c, t, msg, &items, &is_lie, &why);
    if (e == CD_OK) {
        cd__peer_gave(c, from, items);
    } else if (is_lie) {
        cd__peer_lied(c, from, why.msg);
    } else {
        give_up(c, e, &why);
        return true;
    }
    e = cd__work_fill(c);
    if (e != CD_OK) {
        give_up(c, e, &why);
        return true;
    }
    cd__work_ask(c);
    return true;
}

bool cd_sync_client_failed(cd_sync_client *c, const cd_node_id *from, u32 request_id)
{
    cd__task *t = asked_of(c, from, request_id);
    if (t != NULL) {
        closed(c, t);
        cd__peer_refused(c, from);
    }
    return t != NULL || request_id >= CD__FIRST_REQUEST;
}

/* --- how far it is --- */

void cd_sync_client_stats(const cd_sync_client *c, cd_sync_stats *out)
{
    *out = c->stats;
    out->is_active = c->is_active;
    out->height = c->target.height;
    out->peers = cd__peers_left(c);
    if (!c->is_active || c->phase < CD_ADOPT_GATHERS || (c->phase == CD_ADOPT_GATHERS && !c->is_loaded)) {
        return;
    }
    double part = c->phase == CD_ADOPT_GATHERS ? cd__work_part(c) : 1;
    double took = (double)(cd__sync_now(c) - c->begun_ns) / (double)CD_NS_PER_SEC;
    out->permille = (u32)(part * 1000);
    if (part > c->begun_part && part < 1) {
        out->left_s = (u64)(took * (1 - part) / (part - c->begun_part)) + 1;
    }
}
