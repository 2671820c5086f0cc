/* Takes blocks from peers into the store: the hash of each is known before it is asked for, and each names its
 * parent. */
#include "consensus/bootstrap/bootstrap_priv.h"

enum { STALLS_MAX = 16 };

/* --- what is missing --- */

static void want(bootstrap *s, const cd_hash32 *id, bool is_rest)
{
    for (u32 i = 0; i < s->missing_cnt; i++) {
        if (cd_hash32_eq(&s->missing[i].id, id)) {
            s->missing[i].is_rest = s->missing[i].is_rest && is_rest;
            return;
        }
    }
    CD_ASSERT(s->missing_cnt < MISSING_MAX);
    s->missing[s->missing_cnt++] = (missing){.id = *id, .is_rest = is_rest};
}

static void unwant(bootstrap *s, missing *m)
{
    *m = s->missing[--s->missing_cnt];
}

static u64 last_height(const bootstrap *s)
{
    cd_hash32 id;
    u64 height;
    s->vm->ops->last_accepted(s->vm, &id, &height);
    return height;
}

static bool is_accepted(const bootstrap *s, const cd_hash32 *id)
{
    cd_vm_block *b;
    if (s->vm->ops->get(s->vm, &b, id) != CD_OK) {
        return false;
    }
    bool is = b->status == CD_VM_ACCEPTED;
    s->vm->ops->release(s->vm, b);
    return is;
}

/* Each run that an earlier start has left lacks the block below it: those blocks are wanted. */
static cd_err want_rest(bootstrap *s, cd_errinfo *why)
{
    u64 last = last_height(s);
    CD_TRY(cd_fetched_drop(&s->blocks, last, CD_KV_NOSYNC, why));
    for (u32 i = 0; i < s->blocks.cnt; i++) {
        cd_vm_block *b = NULL;
        if (s->blocks.runs[i].lo == last + 1) {
            continue;
        }
        CD_TRY(cd_fetched_get(&s->blocks, &s->block, s->blocks.runs[i].lo));
        CD_TRY(s->vm->ops->parse(s->vm, &b, cd_buf_bytes(&s->block), why));
        want(s, &b->parent, true);
        s->vm->ops->release(s->vm, b);
    }
    return CD_OK;
}

/* --- whom to ask --- */

/* The quickest peer; in one of eight cases any peer, so that others have a chance to turn out quicker. Among equal
 * peers the choice is random and does not depend on the order of the map. NULL: no peer is there. */
static const cd_node_id *pick(const bootstrap *s)
{
    const cd_node_id *best = NULL;
    double best_rate = 0;
    u64 best_place = 0;
    bool is_any = cd_rng_below(s->cfg.rng, 8) == 0;
    u64 salt = cd_rng_u64(s->cfg.rng);
    const void *key;
    void *at;
    for (usize it = 0; cd_hmap_next(&s->peers, &it, &key, &at);) {
        double rate = is_any ? 0 : ((const source *)at)->rate;
        u64 place = cd_be64(key) ^ salt;
        bool is_better = rate > best_rate || (!(rate < best_rate) && place > best_place);
        if (!is_same_node(key, &s->cfg.self) && (best == NULL || is_better)) {
            best = key;
            best_rate = rate;
            best_place = place;
        }
    }
    return best;
}

void cd__boot_ask(bootstrap *s)
{
    for (u32 i = 0; i < s->missing_cnt && s->asked_cnt < CD_BOOTSTRAP_GETS_MAX; i++) {
        missing *m = &s->missing[i];
        const cd_node_id *to = m->is_asked ? NULL : pick(s);
        if (to != NULL) {
            m->is_asked = true;
            m->from = *to;
            m->request = ++s->request;
            m->asked_ns = s->now_ns;
            s->asked_cnt++;
            s->cfg.net->get_ancestors(s->cfg.net, &m->from, m->request, &m->id);
        }
    }
}

/* --- answers --- */

/* The rate is an average in which the newest answer counts half; a peer that gave no blocks gets rate 0. */
static void rate(bootstrap *s, const missing *m, u64 bytes)
{
    source *p = cd_hmap_get(&s->peers, &m->from);
    if (p == NULL) {
        return;
    }
    double now = (double)bytes / ((double)(s->now_ns - m->asked_ns) / (double)CD_NS_PER_SEC + 0.001);
    p->rate = p->is_tried && bytes != 0 ? (p->rate + now) / 2 : now;
    p->is_tried = true;
}

/* Takes one block of an answer, and leaves its parent in *next. CD_ENOENT: the parent is not wanted. */
static cd_err take(bootstrap *s, cd_hash32 *next, cd_bytes bytes, u64 last)
{
    cd_vm_block *b = NULL;
    CD_TRY(s->vm->ops->parse(s->vm, &b, bytes, NULL));
    cd_err e = cd_hash32_eq(&b->id, next) ? CD_OK : CD_EINVAL;
    if (e == CD_OK) {
        bool is_new = b->height > last && cd_fetched_put(&s->blocks, b->height, bytes);
        s->fetched += is_new;
        *next = b->parent;
        e = is_new && b->height > last + 1 && !cd_fetched_has(&s->blocks, b->height - 1) ? CD_OK : CD_ENOENT;
    }
    s->vm->ops->release(s->vm, b);
    return e;
}

static missing *asked_of(bootstrap *s, const cd_node_id *from, u32 request)
{
    for (u32 i = 0; i < s->missing_cnt; i++) {
        missing *m = &s->missing[i];
        if (m->is_asked && m->request == request && is_same_node(&m->from, from)) {
            return m;
        }
    }
    return NULL;
}

/* Nobody has the blocks below those that an earlier start has left, and all that the beacons name is here: then those
 * blocks belong to no chain that anybody knows. */
static bool is_rest_useless(const bootstrap *s)
{
    bool is = s->missing_cnt != 0 && s->stalls >= STALLS_MAX + cd_hmap_cnt(&s->peers) * 2;
    for (u32 i = 0; i < s->missing_cnt && is; i++) {
        is = s->missing[i].is_rest;
    }
    return is;
}

static void drop_rest(bootstrap *s)
{
    cd_errinfo why = {0};
    cd_log_warn(s->cfg.log, "nobody has what is before blocks that were fetched once: they are let go of",
                CD_F("chain", s->cfg.name));
    cd_err e = cd_fetched_clear(&s->blocks, &why);
    if (e != CD_OK) {
        cd__boot_halt(s, "fetched blocks cannot be let go of", e, &why);
        return;
    }
    cd__boot_again(s, BOOT_RETRY_NS);
}

static void go_on(bootstrap *s)
{
    if (s->missing_cnt != 0) {
        cd__boot_ask(s);
        return;
    }
    cd__boot_step(s, CD_BOOTSTRAP_EXECUTES);
    s->pass_executed = 0;
}

void cd__boot_on_ancestors(bootstrap *s, const cd_node_id *from, u32 request, const cd_bytes *blocks, u32 cnt)
{
    missing *m = asked_of(s, from, request);
    if (m == NULL) {
        return;
    }
    cd_errinfo why = {0};
    cd_hash32 next = m->id;
    u64 last = last_height(s);
    u64 bytes = 0;
    cd_err e = CD_OK;
    for (u32 i = 0; i < cnt && i < CD_BOOTSTRAP_BLOCKS_MAX && e == CD_OK; i++) {
        e = take(s, &next, blocks[i], last);
        bytes += e == CD_OK || e == CD_ENOENT ? blocks[i].n : 0;
    }
    rate(s, m, bytes);
    m->is_asked = false;
    s->asked_cnt--;
    if (e == CD_ENOENT) {
        unwant(s, m);
    } else {
        m->id = next; /* unchanged when the first block was not the one that was asked for */
    }
    e = cd_fetched_write(&s->blocks, CD_KV_NOSYNC, &why);
    if (e != CD_OK) {
        cd__boot_halt(s, "fetched blocks cannot be stored", e, &why);
        return;
    }
    s->stalls = bytes != 0 ? 0 : s->stalls + 1;
    if (is_rest_useless(s)) {
        drop_rest(s);
        return;
    }
    /* A peer that gave nothing is not asked again at once, and neither is another: the next tick asks. */
    if (bytes != 0 || s->missing_cnt == 0) {
        go_on(s);
    }
}

void cd__boot_fetch(bootstrap *s, const cd_hash32 *ids, u32 cnt)
{
    cd_errinfo why = {0};
    s->missing_cnt = 0;
    s->asked_cnt = 0;
    s->stalls = 0;
    cd__boot_step(s, CD_BOOTSTRAP_FETCHES);
    cd_err e = want_rest(s, &why);
    if (e != CD_OK) {
        cd_log_warn(s->cfg.log, "blocks that were fetched before cannot be used", CD_F("chain", s->cfg.name),
                    CD_F("error", why.msg[0] != '\0' ? (const char *)why.msg : cd_err_str(e)));
        s->missing_cnt = 0;
        e = cd_fetched_clear(&s->blocks, &why);
    }
    if (e != CD_OK) {
        cd__boot_halt(s, "fetched blocks cannot be let go of", e, &why);
        return;
    }
    for (u32 i = 0; i < cnt; i++) {
        if (!is_accepted(s, &ids[i])) {
            want(s, &ids[i], false);
        }
    }
    go_on(s);
}
