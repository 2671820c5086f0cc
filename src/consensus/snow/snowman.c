#include "consensus/snow/snowman_priv.h"

#include "base/mem/mem.h"

/* How many blocks that did not verify are remembered, with their parents, for votes that come for them. */
enum { INVALID_MAX = 4096 };

static bool is_running(const snowman *s)
{
    return s->tree != NULL && !s->is_halted;
}

/* --- the seat --- */

static bool parent_of(void *ctx, cd_hash32 *parent, const cd_hash32 *id)
{
    const snowman *s = ctx;
    return cd_snow_tree_parent(s->tree, parent, id);
}

static cd_err snowman_start(cd_engine *e, cd_vm *vm, cd_errinfo *why)
{
    snowman *s = snowman_of(e);
    cd_hash32 last;
    u64 height;
    CD_TRY(vm->ops->set_state(vm, CD_VM_BOOTSTRAPPING, why));
    CD_TRY(vm->ops->set_state(vm, CD_VM_NORMAL, why));
    vm->ops->last_accepted(vm, &last, &height);
    CD_TRY(vm->ops->set_preference(vm, &last));
    s->vm = vm;
    s->tree = cd_snow_tree_new(&s->cfg.params, &last, height);
    s->polls = cd_snow_polls_new(&s->cfg.params, parent_of, s);
    s->is_halted = false;
    return CD_OK;
}

static void snowman_notify(cd_engine *e, cd_vm_event event)
{
    if (event == CD_VM_WANTS_BLOCK) {
        snowman_of(e)->is_due = true;
    }
}

static cd_err snowman_produce(cd_engine *e, cd_errinfo *why)
{
    (void)e;
    return cd_fail(why, CD_EUNSUPPORTED, "this node does not decide alone");
}

static cd_err snowman_rewind(cd_engine *e, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why)
{
    (void)job;
    (void)arg;
    return snowman_produce(e, why);
}

cd_err cd_snowman_propose(cd_engine *e, cd_errinfo *why)
{
    snowman *s = snowman_of(e);
    cd_vm_block *b = NULL;
    const cd_vm_block_ctx ctx = {.pchain_height = 0};
    if (!is_running(s)) {
        return cd_fail(why, CD_ECLOSED, "the engine does not run");
    }
    CD_TRY(s->vm->ops->build(s->vm, &b, &ctx, why));
    e->stats.built++;
    cd__snowman_issue(s, b, NULL, true);
    cd__snowman_settle(s);
    return CD_OK;
}

static bool snowman_step(cd_engine *e)
{
    snowman *s = snowman_of(e);
    cd_errinfo why = {0};
    if (!s->is_due || !is_running(s) || cd_snow_tree_cnt(s->tree) >= s->cfg.params.optimal_processing) {
        return false;
    }
    cd_err err = cd_snowman_propose(e, &why);
    s->is_due = err == CD_OK;
    cd_engine_no_block(s->cfg.log, s->cfg.name, err, &why);
    return err == CD_OK;
}

static void release_all(snowman *s)
{
    void *at;
    const void *key;
    for (usize it = 0; cd_hmap_next(&s->pending, &it, NULL, &at);) {
        s->vm->ops->release(s->vm, ((const pending *)at)->block);
    }
    cd_hmap_clear(&s->pending);
    cd_hmap_clear(&s->fetches);
    for (usize it = 0; cd_hmap_next(&s->peers, &it, &key, &at);) {
        *(peer *)at = (peer){0};
    }
    s->pending_bytes = 0;
    s->waiting_cnt = 0;
    cd_lru_clear(s->invalid);
}

static void release_undecided(void *ctx, void *user)
{
    const snowman *s = ctx;
    s->vm->ops->release(s->vm, user);
}

static void snowman_stop(cd_engine *e)
{
    snowman *s = snowman_of(e);
    if (s->tree == NULL) {
        return;
    }
    release_all(s);
    cd_snow_tree_each(s->tree, release_undecided, s);
    cd_snow_tree_free(s->tree);
    cd_snow_polls_free(s->polls);
    s->tree = NULL;
    s->polls = NULL;
    s->vm = NULL;
}

static const cd_engine_ops ops = {
    .start = snowman_start,
    .notify = snowman_notify,
    .produce = snowman_produce,
    .rewind = snowman_rewind,
    .step = snowman_step,
    .stop = snowman_stop,
};

static void drop_invalid(void *ctx, void *val)
{
    (void)ctx;
    cd_free(val);
}

cd_err cd_snowman_new(cd_engine **out, const cd_snowman_cfg *cfg, cd_errinfo *why)
{
    CD_TRY(cd_snow_params_check(&cfg->params, why));
    snowman *s = cd_new(snowman);
    s->engine.ops = &ops;
    s->cfg = *cfg;
    cd_hmap_init(&s->peers, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(peer));
    cd_hmap_init(&s->pending, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(pending));
    cd_hmap_init(&s->fetches, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(fetch));
    s->invalid = cd_lru_new(CD_HASH_KEYED, sizeof(cd_hash32), INVALID_MAX, drop_invalid, NULL);
    *out = &s->engine;
    return CD_OK;
}

void cd_snowman_free(cd_engine *e)
{
    if (e == NULL) {
        return;
    }
    snowman *s = snowman_of(e);
    CD_ASSERT(s->tree == NULL);
    cd_hmap_fini(&s->peers);
    cd_hmap_fini(&s->pending);
    cd_hmap_fini(&s->fetches);
    cd_lru_free(s->invalid);
    cd_voters_fini(&s->who.voters);
    cd_free(s->waiting);
    cd_free(s->ready);
    cd_kv_batch_fini(&s->batch);
    cd_free(s);
}

/* --- peers --- */

void cd_snowman_connected(cd_engine *e, const cd_node_id *node)
{
    snowman *s = snowman_of(e);
    (void)cd_hmap_put(&s->peers, NULL, node);
    s->who.is_counted = false;
}

void cd_snowman_disconnected(cd_engine *e, const cd_node_id *node)
{
    snowman *s = snowman_of(e);
    cd_node_id id = *node;
    if (is_running(s)) {
        cd__snowman_forget(s, &id);
    }
    (void)cd_hmap_del(&s->peers, &id);
    s->who.is_counted = false;
    if (is_running(s)) {
        cd__snowman_settle(s);
    }
}

static bool is_heard(const snowman *s, const cd_node_id *from)
{
    return is_running(s) && cd_hmap_get(&s->peers, from) != NULL;
}

/* --- questions --- */

static void answer(const snowman *s, const cd_node_id *from, u32 request, u64 height)
{
    cd_snow_chits c = {.preferred = *cd_snow_tree_preference(s->tree)};
    cd_snow_tree_last(s->tree, &c.accepted, &c.accepted_height);
    c.preferred_at_height = c.preferred;
    if (height == c.accepted_height) {
        c.preferred_at_height = c.accepted;
    } else if (height < c.accepted_height) {
        if (s->vm->ops->id_at_height(s->vm, &c.preferred_at_height, height) != CD_OK) {
            c.preferred_at_height = c.accepted;
        }
    } else {
        (void)cd_snow_tree_preference_at(s->tree, &c.preferred_at_height, height);
    }
    s->cfg.net->chits(s->cfg.net, from, request, &c);
}

void cd_snowman_push_query(cd_engine *e, const cd_node_id *from, u32 request, cd_bytes block, u64 height)
{
    snowman *s = snowman_of(e);
    cd_vm_block *b = NULL;
    if (!is_heard(s, from)) {
        return;
    }
    answer(s, from, request, height);
    if (s->vm->ops->parse(s->vm, &b, block, NULL) == CD_OK) {
        cd__snowman_issue(s, b, from, false);
        cd__snowman_settle(s);
    }
}

void cd_snowman_pull_query(cd_engine *e, const cd_node_id *from, u32 request, const cd_hash32 *id, u64 height)
{
    snowman *s = snowman_of(e);
    if (!is_heard(s, from)) {
        return;
    }
    answer(s, from, request, height);
    cd__snowman_fetch(s, id, from);
}

void cd_snowman_get(cd_engine *e, const cd_node_id *from, u32 request, const cd_hash32 *id)
{
    const snowman *s = snowman_of(e);
    cd_vm_block *b;
    if (is_heard(s, from) && s->vm->ops->get(s->vm, &b, id) == CD_OK) {
        s->cfg.net->put(s->cfg.net, from, request, b->bytes);
        s->vm->ops->release(s->vm, b);
    }
}

/* --- answers --- */

/* Whether a node owes an answer to a question that belongs to no poll; the answer counts once. */
static bool take_aside(snowman *s, const cd_node_id *from, u32 request)
{
    for (u32 i = 0; i < ASIDES; i++) {
        aside *a = &s->asides[i];
        if (request != 0 && a->request == request && memcmp(a->node.b, from->b, sizeof from->b) == 0) {
            a->request = 0;
            return true;
        }
    }
    return false;
}

/* A node that was asked may answer even when it is no longer connected. */
void cd_snowman_chits(cd_engine *e, const cd_node_id *from, u32 request, const cd_snow_chits *chits)
{
    snowman *s = snowman_of(e);
    if (!is_running(s)) {
        return;
    }
    bool is_asked = cd_snow_polls_is_asked(s->polls, request, from) || CD_MUTANT(COUNTS_STRANGERS);
    if (!is_asked && !take_aside(s, from, request)) {
        return;
    }
    peer *p = cd_hmap_get(&s->peers, from);
    if (p != NULL) {
        p->has_accepted = true;
        p->accepted = chits->accepted;
    }
    const cd_hash32 options[2] = {chits->preferred, chits->preferred_at_height};
    cd__snowman_fetch(s, &options[0], from);
    cd__snowman_fetch(s, &options[1], from);
    if (is_asked) {
        cd__snowman_vote(s, from, request, options);
    }
    cd__snowman_settle(s);
}

void cd_snowman_query_failed(cd_engine *e, const cd_node_id *from, u32 request)
{
    snowman *s = snowman_of(e);
    if (!is_running(s) || take_aside(s, from, request) || !cd_snow_polls_is_asked(s->polls, request, from)) {
        return;
    }
    const peer *p = cd_hmap_get(&s->peers, from);
    if (p != NULL && p->has_accepted && !CD_MUTANT(NO_DROP)) {
        const cd_hash32 options[2] = {p->accepted, p->accepted};
        cd__snowman_vote(s, from, request, options);
    } else {
        cd__snowman_drop(s, from, request);
    }
    cd__snowman_settle(s);
}

void cd_snowman_put(cd_engine *e, const cd_node_id *from, u32 request, cd_bytes block)
{
    snowman *s = snowman_of(e);
    cd_vm_block *b = NULL;
    cd_hash32 id;
    if (!is_heard(s, from) || !cd__snowman_end_fetch(s, &id, from, request)) {
        return;
    }
    bool is_it = s->vm->ops->parse(s->vm, &b, block, NULL) == CD_OK;
    if (is_it && cd_hash32_eq(&b->id, &id)) {
        cd__snowman_issue(s, b, from, false);
        if (!cd__snowman_is_coming(s, &id)) {
            cd__snowman_abandon(s, &id);
        }
    } else {
        if (is_it) {
            s->vm->ops->release(s->vm, b);
        }
        cd__snowman_abandon(s, &id);
    }
    cd__snowman_settle(s);
}

void cd_snowman_get_failed(cd_engine *e, const cd_node_id *from, u32 request)
{
    snowman *s = snowman_of(e);
    cd_hash32 id;
    if (is_running(s) && !CD_MUTANT(KEEPS_FETCH) && cd__snowman_end_fetch(s, &id, from, request)) {
        cd__snowman_abandon(s, &id);
        cd__snowman_settle(s);
    }
}

void cd_snowman_tick(cd_engine *e)
{
    snowman *s = snowman_of(e);
    if (!is_running(s)) {
        return;
    }
    cd__snowman_mend(s);
    if (cd_snow_tree_cnt(s->tree) != 0) {
        cd__snowman_repoll(s);
    } else {
        cd__snowman_aside(s);
    }
    cd__snowman_settle(s);
}

cd_snowman_load cd_snowman_load_get(const cd_engine *e)
{
    const snowman *s = (const snowman *)(const void *)e;
    return (cd_snowman_load){
        .undecided = s->tree == NULL ? 0 : cd_snow_tree_cnt(s->tree),
        .pending = cd_hmap_cnt(&s->pending),
        .pending_bytes = s->pending_bytes,
        .fetches = cd_hmap_cnt(&s->fetches),
        .polls = s->polls == NULL ? 0 : cd_snow_polls_cnt(s->polls),
        .waiting = s->waiting_cnt,
        .is_halted = s->is_halted,
    };
}

void cd_snowman_look(const cd_engine *e, void (*fn)(void *ctx, const cd_snow_view *v), void *ctx)
{
    const snowman *s = (const snowman *)(const void *)e;
    if (s->tree != NULL) {
        cd_snow_tree_look(s->tree, fn, ctx);
    }
}

cd_hash32 cd_snowman_preference(const cd_engine *e)
{
    const snowman *s = (const snowman *)(const void *)e;
    return s->tree == NULL ? (cd_hash32){0} : *cd_snow_tree_preference(s->tree);
}

void cd_snowman_last(const cd_engine *e, cd_hash32 *id, u64 *height)
{
    const snowman *s = (const snowman *)(const void *)e;
    *id = (cd_hash32){0};
    *height = 0;
    if (s->tree != NULL) {
        cd_snow_tree_last(s->tree, id, height);
    }
}
