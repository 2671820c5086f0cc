#include "chains/evmchain/sync/serve.h"

#include "base/mem/mem.h"
#include "chains/evmchain/core/view.h"
#include "p2p/sdk.h"

/* How long a copy of the tries is kept that nobody asks for, and the tries of how many summaries. */
#define IDLE_NS (60 * CD_NS_PER_SEC)
enum { STATES = 2, TRIE_BYTES_MAX = 64 << 20 };

/* The tries as of a summary's height. */
typedef struct state_of {
    cd_view *view; /* NULL: a free place */
    u64 height;
    cd_hash32 root;
    cd_world_past *past;
    cd_trie *storage; /* of the account asked for last; NULL: none */
    cd_hash32 account;
    bool is_too_far; /* too many slots have changed since: storage is not looked for again */
    u64 used_ns;
} state_of;

struct cd_sync_server {
    cd_sync_server_cfg cfg;
    cd_p2p_window window;
    state_of states[STATES];
    u64 too_far; /* the highest summary that could not be opened: nor can those below, and nobody has us try again */
};

static u64 now_of(const cd_sync_server *s)
{
    return cd_clock_mono_ns(s->cfg.clock);
}

cd_sync_server *cd_sync_server_new(const cd_sync_server_cfg *cfg)
{
    cd_sync_server *s = cd_new(cd_sync_server);
    s->cfg = *cfg;
    cd_p2p_window_init(&s->window, CD_SYNC_ASKS_S * CD_NS_PER_SEC, CD_SYNC_ASKS_MAX, now_of(s));
    return s;
}

static void drop(state_of *x)
{
    cd_trie_close(x->storage);
    cd_world_past_close(x->past);
    cd_view_unref(x->view);
    *x = (state_of){.view = NULL};
}

void cd_sync_server_free(cd_sync_server *s)
{
    if (s != NULL) {
        for (usize i = 0; i < STATES; i++) {
            drop(&s->states[i]);
        }
        cd_p2p_window_fini(&s->window);
        cd_free(s);
    }
}

/* --- summaries --- */

static cd_err summary_in(const cd_sync_server *s, cd_view *v, cd_sync_summary *out, u64 height)
{
    u64 step = s->cfg.interval;
    u64 head = cd_view_head(v)->block.header.number;
    cd_arena a = {0};
    cd_header h;
    if ((s->cfg.family == CD_SYNC_C && s->cfg.side == NULL) || step == 0 || height == 0 || height > head ||
        height % step != 0 || head - height >= STATES * step || height < cd_view_oldest_state(v)) {
        return CD_ENOENT;
    }
    *out = (cd_sync_summary){.height = height};
    cd_err e = cd_view_hash(v, &out->hash, height);
    if (e == CD_OK) {
        e = cd_view_header(v, &h, &a, height);
    }
    if (e == CD_OK) {
        out->root = h.state_root;
    }
    if (e == CD_OK && s->cfg.family == CD_SYNC_C) {
        e = s->cfg.side->root_at(s->cfg.side->ctx, &out->atomic_root, height);
    }
    cd_arena_fini(&a);
    return e;
}

cd_err cd_sync_server_at(cd_sync_server *s, cd_sync_summary *out, u64 height)
{
    cd_view *v = cd_view_newest(s->cfg.chain);
    cd_err e = summary_in(s, v, out, height);
    cd_view_unref(v);
    return e;
}

/* The heights that may have a summary, the newest first; 0: none. */
static u64 height_of(const cd_sync_server *s, u64 back)
{
    u64 step = s->cfg.interval;
    u64 head = cd_chain_head(s->cfg.chain)->header.number;
    return step == 0 || head / step <= back ? 0 : (head / step - back) * step;
}

cd_err cd_sync_server_last(cd_sync_server *s, cd_sync_summary *out)
{
    return cd_sync_server_at(s, out, height_of(s, 0));
}

/* --- leafs --- */

/* Opens the tries of a summary in the place that was not used for longest. */
static cd_err open_state(cd_sync_server *s, state_of **out, const cd_sync_summary *which)
{
    state_of *x = &s->states[0];
    for (usize i = 1; i < STATES; i++) {
        x = s->states[i].used_ns < x->used_ns ? &s->states[i] : x;
    }
    drop(x);
    *x = (state_of){
        .view = cd_view_newest(s->cfg.chain), .height = which->height, .root = which->root, .used_ns = now_of(s)};
    const cd_world_past_cfg cfg = {
        .kv = cd_view_kv(x->view),
        .form = cd_view_rules(x->view)->account_form,
        .version = cd_world_version_of(which->height),
        .max_changed = CD_SYNC_CHANGED_MAX,
    };
    cd_err e = cd_world_past_open(&x->past, &cfg, NULL);
    if (e != CD_OK) {
        x->past = NULL;
        drop(x);
        s->too_far = which->height;
        return e;
    }
    *out = x;
    return CD_OK;
}

/* The tries of one of the summaries, that with a root if root is not NULL; they are opened if need be. */
static cd_err state_at(cd_sync_server *s, state_of **out, u64 height, const cd_hash32 *root)
{
    cd_sync_summary which;
    if (height <= s->too_far) {
        return CD_ENOENT;
    }
    CD_TRY(cd_sync_server_at(s, &which, height));
    if (root != NULL && !cd_hash32_eq(&which.root, root)) {
        return CD_ENOENT;
    }
    for (usize i = 0; i < STATES; i++) {
        if (s->states[i].view != NULL && s->states[i].height == height) {
            *out = &s->states[i];
            return CD_OK;
        }
    }
    return open_state(s, out, &which);
}

static cd_err accounts_with(cd_sync_server *s, state_of **out, const cd_hash32 *root)
{
    for (u64 back = 0; back < STATES; back++) {
        cd_err e = state_at(s, out, height_of(s, back), root);
        if (e != CD_ENOENT) {
            return e;
        }
    }
    return CD_ENOENT;
}

/* Opens the storage of an account, unless it is open. */
static cd_err open_storage(state_of *x, const cd_hash32 *account)
{
    cd_trie *t = NULL;
    if (x->storage != NULL && cd_hash32_eq(&x->account, account)) {
        return CD_OK;
    }
    if (x->is_too_far) {
        return CD_ENOENT;
    }
    cd_err e = cd_world_past_storage_trie(x->past, &t, account, NULL);
    x->is_too_far = e == CD_ELIMIT;
    CD_TRY(e);
    cd_trie_close(x->storage);
    x->storage = t;
    x->account = *account;
    return CD_OK;
}

/* The question does not say of which state: it is the one where the account's storage has the root. */
static cd_err storage_with(cd_sync_server *s, state_of **out, const cd_sync_ask_leafs *ask)
{
    for (u64 back = 0; back < STATES; back++) {
        state_of *x;
        cd_hash32 root;
        cd_err e = state_at(s, &x, height_of(s, back), NULL);
        e = e != CD_OK ? e : open_storage(x, &ask->account);
        if (e == CD_OK) {
            cd_trie_root(x->storage, &root);
            if (cd_hash32_eq(&root, &ask->root)) {
                *out = x;
                return CD_OK;
            }
        }
    }
    return CD_ENOENT;
}

static bool is_zero(const cd_hash32 *h)
{
    static const cd_hash32 zero;
    return cd_hash32_eq(h, &zero);
}

static bool is_proper(const cd_sync_ask_leafs *q)
{
    usize n = q->of == CD_SYNC_OF_ATOMIC ? CD_SYNC_SIDE_KEY : 32;
    return (q->of == CD_SYNC_OF_STATE || q->of == CD_SYNC_OF_ATOMIC) && q->limit != 0 && !is_zero(&q->root) &&
           !cd_hash32_eq(&q->root, &CD_TRIE_EMPTY_ROOT) && (q->start.n == 0 || q->start.n == n) &&
           (q->end.n == 0 || (q->end.n == n && cd_bytes_cmp(q->start, q->end) <= 0));
}

static void put_leafs(cd_buf *out, cd_arena *a, const cd_trie_range *r)
{
    cd_bytes *keys = cd_arena_array(a, cd_bytes, r->cnt);
    cd_bytes *values = cd_arena_array(a, cd_bytes, r->cnt);
    for (usize i = 0; i < r->cnt; i++) {
        keys[i] = r->items[i].key;
        values[i] = r->items[i].value;
    }
    const cd_sync_leafs doc = {
        .keys = {.v = keys, .cnt = (u32)r->cnt},
        .values = {.v = values, .cnt = (u32)r->cnt},
        .proof = {.v = (void *)(uintptr_t)r->proof.node, .cnt = (u32)r->proof.cnt},
    };
    cd_linear_put(out, &cd_sync_leafs_table, &doc);
}

/* Requests may be long: as many leafs as make a message. Roots of the two summaries alone are looked at. */
static cd_err give_side(cd_sync_server *s, cd_buf *out, cd_arena *a, const cd_sync_ask_leafs *ask)
{
    const cd_sync_side *side = s->cfg.side;
    cd_trie *t = NULL;
    cd_trie_range r;
    cd_err e = CD_ENOENT;
    for (u64 back = 0; back < STATES && side != NULL && e != CD_OK; back++) {
        cd_sync_summary which;
        bool is =
            cd_sync_server_at(s, &which, height_of(s, back)) == CD_OK && cd_hash32_eq(&which.atomic_root, &ask->root);
        e = is ? CD_OK : CD_ENOENT;
    }
    CD_TRY(e);
    CD_TRY(side->trie(side->ctx, &t, &ask->root));
    usize start = out->n;
    usize most = cd_min_u64(ask->limit, CD_SYNC_LEAFS_MAX);
    e = cd_trie_prove_range(t, &r, a, ask->start, ask->end, most);
    while (e == CD_OK) {
        put_leafs(out, a, &r);
        if (out->n - start <= CD_SYNC_MESSAGE_MAX || most == 1) {
            break;
        }
        out->n = start;
        most /= 2;
        e = cd_trie_prove_range(t, &r, a, ask->start, ask->end, most);
    }
    cd_trie_close(t);
    return e;
}

/* An account is at most some hundred bytes and a slot 33: even CD_SYNC_LEAFS_MAX of them are a small message. */
static cd_err give_leafs(cd_sync_server *s, cd_buf *out, cd_arena *a, const cd_sync_ask_leafs *ask)
{
    state_of *x = NULL;
    cd_trie_range r;
    bool is_storage = !is_zero(&ask->account);
    if (!is_proper(ask)) {
        return CD_ENOENT;
    }
    if (ask->of == CD_SYNC_OF_ATOMIC) {
        return give_side(s, out, a, ask);
    }
    CD_TRY(is_storage ? storage_with(s, &x, ask) : accounts_with(s, &x, &ask->root));
    cd_trie *t = is_storage ? x->storage : cd_world_past_trie(x->past);
    x->used_ns = now_of(s);
    CD_TRY(cd_trie_prove_range(t, &r, a, ask->start, ask->end, cd_min_u64(ask->limit, CD_SYNC_LEAFS_MAX)));
    put_leafs(out, a, &r);
    /* Whoever reads it through must not have it stay in memory whole; what the summary changed stays anyway. */
    if (cd_trie_mem(t) > TRIE_BYTES_MAX) {
        cd_trie_trim(t, TRIE_BYTES_MAX / 2);
    }
    return CD_OK;
}

/* --- blocks and code --- */

static cd_err give_blocks(cd_sync_server *s, cd_buf *out, cd_arena *a, const cd_sync_ask_blocks *ask, u64 deadline_ns)
{
    cd_bytes blocks[CD_SYNC_BLOCKS_MAX];
    cd_hash32 hash;
    u32 cnt = 0;
    usize bytes = 0;
    cd_err e = CD_OK;
    cd_view *v = cd_view_newest(s->cfg.chain);
    if (ask->height > cd_view_head(v)->block.header.number || cd_view_hash(v, &hash, ask->height) != CD_OK ||
        !cd_hash32_eq(&hash, &ask->hash)) {
        e = CD_ENOENT;
    }
    while (e == CD_OK && cnt < cd_min_u64(ask->cnt, CD_SYNC_BLOCKS_MAX) && cnt <= ask->height &&
           (cnt == 0 || now_of(s) < deadline_ns)) {
        const cd_accepted *b;
        e = cd_view_block(v, &b, a, ask->height - cnt);
        if (e != CD_OK || (cnt != 0 && bytes + b->rlp.n > CD_SYNC_BLOCKS_TARGET)) {
            break;
        }
        blocks[cnt++] = b->rlp;
        bytes += b->rlp.n;
    }
    /* Blocks before those that a sync brought are not there. */
    e = e == CD_ENOENT && cnt != 0 ? CD_OK : e;
    if (e == CD_OK && (cnt == 0 || bytes > CD_SYNC_MESSAGE_MAX - 4096)) {
        e = CD_ENOENT;
    }
    if (e == CD_OK) {
        cd_linear_put(out, &cd_sync_items_table, &(cd_sync_items){.items = {.v = blocks, .cnt = cnt}});
    }
    cd_view_unref(v);
    return e;
}

static cd_err give_code(cd_sync_server *s, cd_buf *out, const cd_sync_ask_code *ask)
{
    cd_bytes code[CD_SYNC_CODE_MAX];
    const cd_hash32 *hashes = ask->hashes.v;
    cd_world_reader r;
    cd_err e = ask->hashes.cnt > CD_SYNC_CODE_MAX ? CD_ENOENT : CD_OK;
    cd_view *v = cd_view_newest(s->cfg.chain);
    cd_world_reader_init(&r, cd_view_kv(v), cd_view_rules(v)->account_form, CD_WORLD_NEWEST);
    for (u32 i = 0; i < ask->hashes.cnt && e == CD_OK; i++) {
        for (u32 k = 0; k < i; k++) {
            e = cd_hash32_eq(&hashes[i], &hashes[k]) ? CD_ENOENT : e;
        }
        /* Damage and absence look the same from here. */
        if (e == CD_OK && r.src.code(&r.src, &code[i], &hashes[i]) != CD_OK) {
            e = CD_ENOENT;
        }
    }
    if (e == CD_OK) {
        cd_linear_put(out, &cd_sync_items_table, &(cd_sync_items){.items = {.v = code, .cnt = ask->hashes.cnt}});
    }
    cd_world_reader_fini(&r);
    cd_view_unref(v);
    return e;
}

cd_err cd_sync_server_answer(cd_sync_server *s, cd_buf *out, const cd_node_id *peer, cd_bytes msg, u64 deadline_ns)
{
    cd_arena a = {0};
    cd_sync_ask ask;
    cd_err e = CD_OK;
    if (cd_sync_ask_parse(&ask, &a, s->cfg.family, msg, NULL) != CD_OK) {
        e = CD_ETYPE;
    } else if (!cd_p2p_window_hit(&s->window, peer, now_of(s))) {
        e = CD_EBUSY;
    } else if (ask.kind == CD_SYNC_LEAFS) {
        e = give_leafs(s, out, &a, &ask.leafs);
    } else if (ask.kind == CD_SYNC_BLOCKS) {
        e = give_blocks(s, out, &a, &ask.blocks, deadline_ns);
    } else {
        e = give_code(s, out, &ask.code);
    }
    cd_arena_fini(&a);
    return e;
}

u64 cd_sync_server_wake(cd_sync_server *s)
{
    u64 next = UINT64_MAX;
    for (usize i = 0; i < STATES; i++) {
        state_of *x = &s->states[i];
        if (x->view != NULL && now_of(s) - x->used_ns >= IDLE_NS) {
            drop(x);
        } else if (x->view != NULL) {
            next = cd_min_u64(next, x->used_ns + IDLE_NS);
        }
    }
    return next;
}
