/* How blocks come in: one whose parent is undecided or last accepted is verified and issued; any other waits, and its
 * parent is asked for, from the same peer, until a known block is reached. */
#include "consensus/snow/snowman_priv.h"

#include "base/mem/mem.h"

static peer *peer_of(const snowman *s, const cd_node_id *node)
{
    return cd_hmap_get(&s->peers, node);
}

static bool is_issued(const snowman *s, const cd_hash32 *id)
{
    cd_hash32 last;
    u64 height;
    cd_snow_tree_last(s->tree, &last, &height);
    return cd_hash32_eq(id, &last) || cd_snow_tree_find(s->tree, NULL, id);
}

bool cd__snowman_is_coming(const snowman *s, const cd_hash32 *id)
{
    return cd_hmap_get(&s->pending, id) != NULL || cd_hmap_get(&s->fetches, id) != NULL;
}

bool cd__snowman_above(const snowman *s, cd_hash32 *parent, const cd_hash32 *id)
{
    const pending *p = cd_hmap_get(&s->pending, id);
    const cd_hash32 *above = p != NULL ? &p->block->parent : cd_lru_get(s->invalid, id);
    if (above == NULL) {
        return false;
    }
    *parent = *above;
    return true;
}

/* --- pending --- */

/* Takes a block out of the pending ones; its use goes to the caller. */
static cd_vm_block *unkeep(snowman *s, const cd_hash32 *id)
{
    const pending *p = cd_hmap_get(&s->pending, id);
    if (p == NULL) {
        return NULL;
    }
    cd_vm_block *b = p->block;
    peer *from = peer_of(s, &p->from);
    if (from != NULL) {
        from->pending_cnt--;
        from->pending_bytes -= b->bytes.n;
    }
    s->pending_bytes -= b->bytes.n;
    (void)cd_hmap_del(&s->pending, &b->id);
    return b;
}

/* Which of two blocks is taken first. The order of a map differs from process to process; this order does not. */
static bool is_before(const cd_vm_block *a, const cd_vm_block *b)
{
    return a->height != b->height ? a->height < b->height : memcmp(a->id.b, b->id.b, sizeof a->id.b) < 0;
}

/* The last pending block, in that order, that a peer (NULL: any peer) has made us keep. */
static cd_vm_block *highest(const snowman *s, const cd_node_id *from)
{
    cd_vm_block *found = NULL;
    void *at;
    for (usize it = 0; cd_hmap_next(&s->pending, &it, NULL, &at);) {
        const pending *p = at;
        bool counts = from == NULL || memcmp(p->from.b, from->b, sizeof from->b) == 0;
        if (counts && (found == NULL || is_before(found, p->block))) {
            found = p->block;
        }
    }
    return found;
}

static bool is_peer_full(const peer *p)
{
    return !CD_MUTANT(UNBOUNDED) &&
           (p->pending_cnt > CD_SNOWMAN_PENDING_PEER_MAX || p->pending_bytes > CD_SNOWMAN_PENDING_PEER_BYTES);
}

static bool is_full(const snowman *s)
{
    return !CD_MUTANT(UNBOUNDED) &&
           (cd_hmap_cnt(&s->pending) > CD_SNOWMAN_PENDING_MAX || s->pending_bytes > CD_SNOWMAN_PENDING_BYTES);
}

/* Releases a pending block; the blocks that wait for it stay, and are released when their turn comes. */
static void let_go(snowman *s, const cd_vm_block *b)
{
    cd_vm_block *mine = unkeep(s, &b->id);
    s->vm->ops->release(s->vm, mine);
}

/* Keeps a block that waits. When there is no room the highest block goes: lower ones are needed first, and peers will
 * show the others again. */
static void keep(snowman *s, cd_vm_block *b, const cd_node_id *from)
{
    peer *p = peer_of(s, from);
    if (p == NULL || cd_hmap_get(&s->pending, &b->id) != NULL) {
        s->vm->ops->release(s->vm, b);
        return;
    }
    cd_hash32 id = b->id;
    *(pending *)cd_hmap_put(&s->pending, NULL, &id) = (pending){.block = b, .from = *from};
    p->pending_cnt++;
    p->pending_bytes += b->bytes.n;
    s->pending_bytes += b->bytes.n;
    while (is_peer_full(p)) {
        let_go(s, highest(s, from));
    }
    while (is_full(s)) {
        let_go(s, highest(s, NULL));
    }
}

/* --- fetching --- */

static bool is_in_vm(const snowman *s, const cd_hash32 *id)
{
    cd_vm_block *b;
    if (s->vm->ops->get(s->vm, &b, id) != CD_OK) {
        return false;
    }
    bool is_decided = b->status == CD_VM_ACCEPTED || b->status == CD_VM_REJECTED;
    s->vm->ops->release(s->vm, b);
    return is_decided;
}

void cd__snowman_fetch(snowman *s, const cd_hash32 *id, const cd_node_id *from)
{
    if (CD_MUTANT(NO_FETCH) || is_issued(s, id) || cd__snowman_is_coming(s, id)) {
        return; /* the usual case, with nearly every vote; the map of peers need not be searched then */
    }
    peer *p = peer_of(s, from);
    if (p == NULL || is_in_vm(s, id)) {
        return;
    }
    bool is_too_much =
        p->fetch_cnt >= CD_SNOWMAN_FETCHES_PEER_MAX || cd_hmap_cnt(&s->fetches) >= CD_SNOWMAN_FETCHES_MAX;
    if (is_too_much && !CD_MUTANT(UNBOUNDED)) {
        return;
    }
    u32 request = ++s->request;
    *(fetch *)cd_hmap_put(&s->fetches, NULL, id) = (fetch){.from = *from, .request = request};
    p->fetch_cnt++;
    s->cfg.net->get(s->cfg.net, from, request, id);
}

bool cd__snowman_end_fetch(snowman *s, cd_hash32 *id, const cd_node_id *from, u32 request)
{
    const void *key;
    void *at;
    for (usize it = 0; cd_hmap_next(&s->fetches, &it, &key, &at);) {
        const fetch *f = at;
        if (f->request == request && memcmp(f->from.b, from->b, sizeof from->b) == 0) {
            peer *p = peer_of(s, from);
            memcpy(id->b, key, sizeof id->b);
            (void)cd_hmap_del(&s->fetches, id);
            if (p != NULL) {
                p->fetch_cnt--;
            }
            return true;
        }
    }
    return false;
}

/* --- issuing --- */

static void make_ready(snowman *s, cd_vm_block *b)
{
    if (s->ready_cnt == s->ready_cap) {
        s->ready_cap = s->ready_cap == 0 ? 16 : s->ready_cap * 2;
        s->ready = cd_realloc(s->ready, s->ready_cap * sizeof(cd_vm_block *));
    }
    s->ready[s->ready_cnt++] = b;
}

static cd_vm_block *first_child(const snowman *s, const cd_hash32 *id)
{
    cd_vm_block *found = NULL;
    void *at;
    for (usize it = 0; cd_hmap_next(&s->pending, &it, NULL, &at);) {
        cd_vm_block *b = ((const pending *)at)->block;
        if (cd_hash32_eq(&b->parent, id) && (found == NULL || is_before(b, found))) {
            found = b;
        }
    }
    return found;
}

/* Makes ready all blocks that waited for a block. */
static void ready_children(snowman *s, const cd_hash32 *id)
{
    for (cd_vm_block *b = first_child(s, id); b != NULL; b = first_child(s, id)) {
        make_ready(s, unkeep(s, &b->id));
    }
}

static void remember_invalid(snowman *s, const cd_vm_block *b)
{
    cd_hash32 *parent = cd_new(cd_hash32);
    *parent = b->parent;
    if (!cd_lru_put(s->invalid, &b->id, parent, 1)) {
        cd_free(parent);
    }
}

/* Verifies a block on its issued parent, and adds it to the tree, which takes over the use. */
static bool verify_and_add(snowman *s, cd_vm_block *b)
{
    const cd_vm_block_ctx ctx = {.pchain_height = 0};
    cd_errinfo why = {0};
    cd_err e = is_issued(s, &b->parent) ? s->vm->ops->verify(s->vm, b, &ctx, &why) : CD_ENOENT;
    if (e != CD_OK && CD_MUTANT(SKIPS_VERIFY) && is_issued(s, &b->parent)) {
        e = CD_OK;
    }
    if (e == CD_OK && (b->status == CD_VM_VERIFIED || CD_MUTANT(SKIPS_VERIFY))) {
        s->engine.stats.verified++;
        s->engine.stats.verified_max = cd_max_u64(s->engine.stats.verified_max, b->height);
        (void)cd_lru_del(s->invalid, &b->id);
        e = cd_snow_tree_add(s->tree, &b->id, &b->parent, b->height, b, &why);
        CD_ASSERT(e == CD_OK);
        return true;
    }
    if (e != CD_OK && e != CD_ENOENT) {
        cd_log_debug(s->cfg.log, "a block does not verify", CD_F("chain", s->cfg.name),
                     CD_F("error", why.msg[0] != '\0' ? (const char *)why.msg : cd_err_str(e)));
    }
    remember_invalid(s, b);
    return false;
}

static void ask_about(snowman *s, const cd_vm_block *b, bool is_ours)
{
    if (cd_snow_tree_is_preferred(s->tree, &b->id)) {
        cd__snowman_query(s, &b->id, b->bytes, is_ours);
    }
}

/* The two children of an oracle block are issued with it, the preferred one first. */
static void issue_options(snowman *s, cd_vm_block *b, bool is_ours)
{
    cd_vm_block *options[2];
    const cd_vm_ops *ops = s->vm->ops;
    if (ops->options == NULL || ops->options(s->vm, options, b, NULL) != CD_OK) {
        return;
    }
    for (u32 i = 0; i < 2; i++) {
        if (!is_issued(s, &options[i]->id) && verify_and_add(s, options[i])) {
            ready_children(s, &options[i]->id);
            ask_about(s, options[i], is_ours);
        } else {
            ops->release(s->vm, options[i]);
        }
    }
}

/* A block is too late when its height is decided, or when it follows the last accepted height on another branch. */
static bool is_too_late(const snowman *s, const cd_vm_block *b)
{
    cd_hash32 last;
    u64 height;
    cd_snow_tree_last(s->tree, &last, &height);
    return b->height <= height || (b->height - b->span <= height && !cd_hash32_eq(&b->parent, &last));
}

static void issue_ready(snowman *s, bool is_ours)
{
    while (s->ready_cnt != 0) {
        cd_vm_block *b = s->ready[--s->ready_cnt];
        cd_hash32 id = b->id;
        if (is_issued(s, &id) || is_too_late(s, b) || !verify_and_add(s, b)) {
            s->vm->ops->release(s->vm, b);
        } else {
            ask_about(s, b, is_ours);
            issue_options(s, b, is_ours);
        }
        ready_children(s, &id);
    }
}

void cd__snowman_issue(snowman *s, cd_vm_block *b, const cd_node_id *from, bool is_ours)
{
    if (is_issued(s, &b->id) || is_too_late(s, b)) {
        s->vm->ops->release(s->vm, b);
    } else if (from == NULL || is_issued(s, &b->parent)) {
        make_ready(s, b);
        issue_ready(s, is_ours);
    } else {
        cd_hash32 parent = b->parent;
        keep(s, b, from);
        cd__snowman_fetch(s, &parent, from);
    }
}

void cd__snowman_abandon(snowman *s, const cd_hash32 *id)
{
    ready_children(s, id);
    issue_ready(s, false);
}

/* The lowest pending block whose parent is neither here nor asked for. */
static const pending *first_orphan(const snowman *s)
{
    const pending *found = NULL;
    void *at;
    for (usize it = 0; cd_hmap_next(&s->pending, &it, NULL, &at);) {
        const pending *p = at;
        if (!cd__snowman_is_coming(s, &p->block->parent) && (found == NULL || is_before(p->block, found->block))) {
            found = p;
        }
    }
    return found;
}

void cd__snowman_mend(snowman *s)
{
    for (const pending *p = first_orphan(s); p != NULL && !CD_MUTANT(NO_FETCH); p = first_orphan(s)) {
        const cd_vm_block *b = p->block;
        const cd_hash32 parent = b->parent;
        const cd_node_id from = p->from;
        cd__snowman_fetch(s, &parent, &from);
        if (!cd__snowman_is_coming(s, &parent)) {
            let_go(s, b);
        }
    }
}

/* The block that a peer was asked for first, of those that have not come. */
static const cd_hash32 *first_fetch(const snowman *s, const cd_node_id *node)
{
    const cd_hash32 *found = NULL;
    u32 request = UINT32_MAX;
    const void *key;
    void *at;
    for (usize it = 0; cd_hmap_next(&s->fetches, &it, &key, &at);) {
        const fetch *f = at;
        if (memcmp(f->from.b, node->b, sizeof node->b) == 0 && f->request < request) {
            found = key;
            request = f->request;
        }
    }
    return found;
}

void cd__snowman_forget(snowman *s, const cd_node_id *node)
{
    for (const cd_hash32 *at = first_fetch(s, node); at != NULL; at = first_fetch(s, node)) {
        const cd_hash32 id = *at;
        (void)cd_hmap_del(&s->fetches, &id);
        cd__snowman_abandon(s, &id);
    }
    for (cd_vm_block *b = highest(s, node); b != NULL; b = highest(s, node)) {
        let_go(s, b);
    }
}
