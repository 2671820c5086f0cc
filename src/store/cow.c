#include "store/cow_priv.h"

#include "base/mem/mem.h"

enum { FANOUT = 32, LOW = FANOUT / 4 };

/* A leaf holds cells in key order. An inner node holds children; sep[i] <= every key of child i and
 * > every key of child i-1 (sep[0] is unused for searching). All searched keys of a node share their
 * first `skip` bytes, and head[i] is what follows in key i, so that a search rarely leaves the node. */
struct cd__cow_node {
    atomic_uint refs;
    u16 cnt;
    u16 skip;
    bool is_leaf;
    u64 head[FANOUT];
    union {
        cd__cow_cell *cell[FANOUT];
        struct {
            cd__cow_node *kid[FANOUT];
            cd__cow_cell *sep[FANOUT];
        };
    };
};

static cd__cow_cell *cell_ref(cd__cow_cell *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

static void cell_unref(cd__cow_cell *c)
{
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1) {
        cd_free(c);
    }
}

static cd__cow_cell *cell_new(cd_bytes key, cd_bytes value, bool is_tomb)
{
    cd__cow_cell *c = cd_realloc(NULL, sizeof *c + key.n + value.n);
    atomic_init(&c->refs, 1);
    c->key_n = (u32)key.n;
    c->value_n = (u32)value.n;
    c->is_tomb = is_tomb;
    if (key.n != 0) {
        memcpy(c->data, key.p, key.n);
    }
    if (value.n != 0) {
        memcpy(c->data + key.n, value.p, value.n);
    }
    return c;
}

static cd__cow_node *node_new(bool is_leaf)
{
    usize size = is_leaf ? offsetof(cd__cow_node, cell) + FANOUT * sizeof(cd__cow_cell *) : sizeof(cd__cow_node);
    cd__cow_node *n = cd_realloc(NULL, size);
    atomic_init(&n->refs, 1);
    n->cnt = 0;
    n->skip = 0;
    n->is_leaf = is_leaf;
    return n;
}

/* Recursion goes no deeper than the tree (CD__COW_MAX_DEPTH). */
static void node_unref(cd__cow_node *n)
{
    if (atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (u32 i = 0; i < n->cnt; i++) {
        if (n->is_leaf) {
            cell_unref(n->cell[i]);
        } else {
            node_unref(n->kid[i]);
            cell_unref(n->sep[i]);
        }
    }
    cd_free(n);
}

/* Gives the node behind *slot in a form that may be changed. */
static cd__cow_node *own(cd__cow_node **slot)
{
    cd__cow_node *n = *slot;
    if (atomic_load_explicit(&n->refs, memory_order_acquire) == 1) {
        return n;
    }
    cd__cow_node *c = node_new(n->is_leaf);
    c->cnt = n->cnt;
    c->skip = n->skip;
    memcpy(c->head, n->head, n->cnt * sizeof *n->head);
    for (u32 i = 0; i < n->cnt; i++) {
        if (n->is_leaf) {
            c->cell[i] = cell_ref(n->cell[i]);
        } else {
            atomic_fetch_add_explicit(&n->kid[i]->refs, 1, memory_order_relaxed);
            c->kid[i] = n->kid[i];
            c->sep[i] = cell_ref(n->sep[i]);
        }
    }
    node_unref(n);
    *slot = c;
    return c;
}

/* --- searching --- */

/* The index of the first entry to search: the first separator of an inner node is not compared. */
static u32 first_entry(const cd__cow_node *n)
{
    return n->is_leaf ? 0 : 1;
}

static cd_bytes entry_key(const cd__cow_node *n, u32 i)
{
    return cd__cow_key(n->is_leaf ? n->cell[i] : n->sep[i]);
}

/* The eight bytes of key after the first skip bytes, as a number; zeros stand for bytes after its end. */
static u64 head_of(cd_bytes key, usize skip)
{
    if (key.n >= skip + 8) {
        return cd_be64(key.p + skip);
    }
    u8 b[8] = {0};
    if (key.n > skip) {
        memcpy(b, key.p + skip, key.n - skip);
    }
    return cd_be64(b);
}

static usize common(cd_bytes a, cd_bytes b)
{
    usize n = a.n < b.n ? a.n : b.n;
    usize i = 0;
    while (i < n && a.p[i] == b.p[i]) {
        i++;
    }
    return i;
}

static void set_skip(cd__cow_node *n, usize skip)
{
    n->skip = (u16)skip;
    for (u32 i = first_entry(n); i < n->cnt; i++) {
        n->head[i] = head_of(entry_key(n, i), skip);
    }
}

/* Skips the prefix that all keys of the node share, once it makes up most of the heads. */
static void tighten(cd__cow_node *n)
{
    u32 first = first_entry(n);
    if (n->cnt > first + 1u && n->head[first] >> 32 == n->head[n->cnt - 1u] >> 32) {
        set_skip(n, common(entry_key(n, first), entry_key(n, n->cnt - 1u)));
    }
}

/* Shortens skip so far that key, too, begins with the shared prefix. */
static void loosen(cd__cow_node *n, cd_bytes key)
{
    u32 first = first_entry(n);
    if (n->skip != 0 && n->cnt > first) {
        usize same = common(entry_key(n, first), key);
        if (same < n->skip) {
            set_skip(n, same);
        }
    } else if (n->skip != 0) {
        n->skip = 0;
    }
}

/* The first entry whose head is >= head. A straight count has no branch to guess wrongly. */
static u32 first_not_below(const cd__cow_node *n, u64 head)
{
    u32 first = first_entry(n);
    u32 below = 0;
    for (u32 i = first; i < n->cnt; i++) {
        below += n->head[i] < head ? 1 : 0;
    }
    return first + below;
}

/* The first entry >= key (> key when after). */
static u32 search(const cd__cow_node *n, cd_bytes key, bool after)
{
    u32 lo = first_entry(n);
    u32 hi = n->cnt;
    if (n->skip != 0 && lo < hi) {
        cd_bytes shared = cd_bytes_of(entry_key(n, lo).p, n->skip);
        cd_bytes start = cd_bytes_of(key.p, key.n < n->skip ? key.n : n->skip);
        int c = cd_bytes_cmp(start, shared);
        if (c != 0) {
            return c < 0 ? lo : hi;
        }
    }
    u64 head = head_of(key, n->skip);
    lo = first_not_below(n, head);
    while (lo < hi && n->head[lo] == head) {
        int c = cd_bytes_cmp(entry_key(n, lo), key);
        if (c > 0 || (c == 0 && !after)) {
            break;
        }
        lo++;
    }
    return lo;
}

/* The first cell of leaf n whose key is >= key; *found when it is equal. */
static u32 find_cell(const cd__cow_node *n, cd_bytes key, bool *found)
{
    u32 at = search(n, key, false);
    *found = at < n->cnt && cd_bytes_eq(cd__cow_key(n->cell[at]), key);
    return at;
}

/* The child of inner node n that key belongs to. */
static u32 find_kid(const cd__cow_node *n, cd_bytes key)
{
    return search(n, key, true) - 1;
}

/* --- changing --- */

/* The first cell or separator of n: its key separates n from what is left of it. */
static cd__cow_cell *first_cell(const cd__cow_node *n)
{
    return n->is_leaf ? n->cell[0] : n->sep[0];
}

static void move_tail(cd__cow_node *to, cd__cow_node *from, u32 at)
{
    u32 cnt = from->cnt - at;
    memcpy(to->head + to->cnt, from->head + at, cnt * sizeof *to->head);
    if (from->is_leaf) {
        memcpy(to->cell + to->cnt, from->cell + at, cnt * sizeof *to->cell);
    } else {
        memcpy(to->kid + to->cnt, from->kid + at, cnt * sizeof *to->kid);
        memcpy(to->sep + to->cnt, from->sep + at, cnt * sizeof *to->sep);
    }
    to->cnt = (u16)(to->cnt + cnt);
    from->cnt = (u16)at;
}

/* Splits the full node n, into which an entry goes at index at. A node filled in ascending order stays
 * full. */
static cd__cow_node *split(cd__cow_node *n, u32 at)
{
    cd__cow_node *right = node_new(n->is_leaf);
    right->skip = n->skip;
    move_tail(right, n, at == FANOUT ? FANOUT - 1 : FANOUT / 2);
    tighten(n);
    tighten(right);
    return right;
}

static void insert_cell(cd__cow_node *n, u32 at, cd__cow_cell *c)
{
    loosen(n, cd__cow_key(c));
    memmove(n->cell + at + 1, n->cell + at, (n->cnt - at) * sizeof *n->cell);
    memmove(n->head + at + 1, n->head + at, (n->cnt - at) * sizeof *n->head);
    n->cell[at] = c;
    n->head[at] = head_of(cd__cow_key(c), n->skip);
    n->cnt++;
}

static void insert_kid(cd__cow_node *n, u32 at, cd__cow_node *kid)
{
    cd__cow_cell *sep = first_cell(kid);
    loosen(n, cd__cow_key(sep));
    memmove(n->kid + at + 1, n->kid + at, (n->cnt - at) * sizeof *n->kid);
    memmove(n->sep + at + 1, n->sep + at, (n->cnt - at) * sizeof *n->sep);
    memmove(n->head + at + 1, n->head + at, (n->cnt - at) * sizeof *n->head);
    n->kid[at] = kid;
    n->sep[at] = cell_ref(sep);
    n->head[at] = head_of(cd__cow_key(sep), n->skip);
    n->cnt++;
}

/* Puts the cell below *slot; gives the new right neighbour when the node had to be split. */
static cd__cow_node *put_at(cd__cow *m, cd__cow_node **slot, cd__cow_cell *c)
{
    cd__cow_node *n = own(slot);
    cd__cow_node *right = NULL;
    if (n->is_leaf) {
        bool found;
        u32 at = find_cell(n, cd__cow_key(c), &found);
        if (found) {
            m->bytes -= n->cell[at]->key_n + (u64)n->cell[at]->value_n;
            cell_unref(n->cell[at]);
            n->cell[at] = c;
            return NULL;
        }
        m->cnt++;
        if (n->cnt == FANOUT) {
            right = split(n, at);
            if (at > n->cnt || n->cnt == FANOUT - 1) {
                insert_cell(right, at - n->cnt, c);
                return right;
            }
        }
        insert_cell(n, at, c);
        return right;
    }
    u32 k = find_kid(n, cd__cow_key(c));
    cd__cow_node *kid_right = put_at(m, &n->kid[k], c);
    if (kid_right == NULL) {
        return NULL;
    }
    if (n->cnt == FANOUT) {
        right = split(n, k + 1);
        if (k + 1 > n->cnt) {
            insert_kid(right, k + 1 - n->cnt, kid_right);
            return right;
        }
    }
    insert_kid(n, k + 1, kid_right);
    return right;
}

void cd__cow_put(cd__cow *m, cd_bytes key, cd_bytes value, bool is_tomb)
{
    m->bytes += key.n + value.n;
    if (m->root == NULL) {
        m->root = node_new(true);
    }
    cd__cow_node *right = put_at(m, &m->root, cell_new(key, value, is_tomb));
    if (right != NULL) {
        cd__cow_node *root = node_new(false);
        insert_kid(root, 0, m->root);
        insert_kid(root, 1, right);
        m->root = root;
    }
}

static void remove_kid(cd__cow_node *n, u32 at)
{
    cell_unref(n->sep[at]);
    n->cnt--;
    memmove(n->kid + at, n->kid + at + 1, (n->cnt - at) * sizeof *n->kid);
    memmove(n->sep + at, n->sep + at + 1, (n->cnt - at) * sizeof *n->sep);
    memmove(n->head + at, n->head + at + 1, (n->cnt - at) * sizeof *n->head);
}

/* Joins child k of n, which has few entries, with a neighbour when both fit into one node. */
static void join_kid(cd__cow_node *n, u32 k)
{
    u32 left = k == 0 ? 0 : k - 1;
    if (left + 1 >= n->cnt || n->kid[left]->cnt + n->kid[left + 1]->cnt > FANOUT) {
        return;
    }
    cd__cow_node *a = own(&n->kid[left]);
    cd__cow_node *b = own(&n->kid[left + 1]);
    if (!b->is_leaf) {
        /* This first separator may be too high by now; the parent's separator is right. */
        cell_unref(b->sep[0]);
        b->sep[0] = cell_ref(n->sep[left + 1]);
    }
    move_tail(a, b, 0);
    u32 first = first_entry(a);
    set_skip(a, a->cnt > first ? common(entry_key(a, first), entry_key(a, a->cnt - 1u)) : 0);
    node_unref(b);
    remove_kid(n, left + 1);
}

/* Deletes a key that is there. */
static void del_at(cd__cow *m, cd__cow_node **slot, cd_bytes key)
{
    cd__cow_node *n = own(slot);
    if (n->is_leaf) {
        bool found;
        u32 at = find_cell(n, key, &found);
        m->cnt--;
        m->bytes -= n->cell[at]->key_n + (u64)n->cell[at]->value_n;
        cell_unref(n->cell[at]);
        n->cnt--;
        memmove(n->cell + at, n->cell + at + 1, (n->cnt - at) * sizeof *n->cell);
        memmove(n->head + at, n->head + at + 1, (n->cnt - at) * sizeof *n->head);
        return;
    }
    u32 k = find_kid(n, key);
    del_at(m, &n->kid[k], key);
    if (n->kid[k]->cnt == 0) {
        node_unref(n->kid[k]);
        remove_kid(n, k);
    } else if (n->kid[k]->cnt < LOW) {
        join_kid(n, k);
    }
}

void cd__cow_del(cd__cow *m, cd_bytes key)
{
    if (cd__cow_get(m, key) == NULL) {
        return;
    }
    del_at(m, &m->root, key);
    while (!m->root->is_leaf && m->root->cnt == 1) {
        cd__cow_node *kid = m->root->kid[0];
        atomic_fetch_add_explicit(&kid->refs, 1, memory_order_relaxed);
        node_unref(m->root);
        m->root = kid;
    }
    if (m->root->cnt == 0) {
        node_unref(m->root);
        m->root = NULL;
    }
}

const cd__cow_cell *cd__cow_get(const cd__cow *m, cd_bytes key)
{
    const cd__cow_node *n = m->root;
    if (n == NULL) {
        return NULL;
    }
    while (!n->is_leaf) {
        n = n->kid[find_kid(n, key)];
    }
    bool found;
    u32 at = find_cell(n, key, &found);
    return found ? n->cell[at] : NULL;
}

/* Prefetches the cache lines that a search in n reads. */
static void fetch_node(const cd__cow_node *n)
{
    for (usize at = 0; at < offsetof(cd__cow_node, cell); at += 64) {
        __builtin_prefetch((const char *)n + at);
    }
}

/* Prefetches the first lines of a cell: the processor goes on by itself when lines are read in order. */
static void fetch_cell(const cd__cow_cell *c)
{
    for (usize at = 0; at < 192; at += 64) {
        __builtin_prefetch((const char *)c + at);
    }
}

void cd__cow_get_many(const cd__cow *m, const cd__cow_cell **out, const cd_bytes *keys, usize cnt)
{
    CD_ASSERT(cnt <= CD__COW_MANY);
    const cd__cow_node *at[CD__COW_MANY];
    for (usize i = 0; i < cnt; i++) {
        at[i] = m->root;
        out[i] = NULL;
    }
    if (m->root == NULL) {
        return;
    }
    /* All leaves lie equally deep. */
    while (cnt != 0 && !at[0]->is_leaf) {
        for (usize i = 0; i < cnt; i++) {
            at[i] = at[i]->kid[find_kid(at[i], keys[i])];
            fetch_node(at[i]);
        }
    }
    for (usize i = 0; i < cnt; i++) {
        u32 k = first_not_below(at[i], head_of(keys[i], at[i]->skip));
        if (k < at[i]->cnt) {
            fetch_cell(at[i]->cell[k]);
        }
    }
    for (usize i = 0; i < cnt; i++) {
        bool found;
        u32 k = find_cell(at[i], keys[i], &found);
        out[i] = found ? at[i]->cell[k] : NULL;
    }
}

void cd__cow_fini(cd__cow *m)
{
    if (m->root != NULL) {
        node_unref(m->root);
    }
    *m = (cd__cow){0};
}

cd__cow cd__cow_share(const cd__cow *m)
{
    if (m->root != NULL) {
        atomic_fetch_add_explicit(&m->root->refs, 1, memory_order_relaxed);
    }
    return *m;
}

/* Goes down from the node on top to the outermost cell in walking direction. */
static void sink(cd__cow_iter *it)
{
    const cd__cow_node *n = it->node[it->depth - 1];
    while (!n->is_leaf) {
        n = n->kid[it->at[it->depth - 1]];
        CD_ASSERT(it->depth < CD__COW_MAX_DEPTH);
        it->node[it->depth] = n;
        it->at[it->depth] = it->reverse ? n->cnt - 1u : 0;
        it->depth++;
    }
}

void cd__cow_next(cd__cow_iter *it)
{
    while (it->depth != 0) {
        u32 top = it->depth - 1;
        if (!it->reverse && it->at[top] + 1u < it->node[top]->cnt) {
            it->at[top]++;
            sink(it);
            return;
        }
        if (it->reverse && it->at[top] > 0) {
            it->at[top]--;
            sink(it);
            return;
        }
        it->depth--;
    }
}

void cd__cow_seek(cd__cow_iter *it, const cd__cow *m, cd_bytes key, bool has_key, bool reverse)
{
    it->depth = 0;
    it->reverse = reverse;
    const cd__cow_node *n = m->root;
    if (n == NULL) {
        return;
    }
    if (!has_key) {
        it->node[0] = n;
        it->at[0] = reverse ? n->cnt - 1u : 0;
        it->depth = 1;
        sink(it);
        return;
    }
    while (!n->is_leaf) {
        CD_ASSERT(it->depth + 1 < CD__COW_MAX_DEPTH);
        u32 k = find_kid(n, key);
        it->node[it->depth] = n;
        it->at[it->depth++] = k;
        n = n->kid[k];
    }
    bool found;
    u32 at = find_cell(n, key, &found);
    it->node[it->depth] = n;
    it->at[it->depth++] = at;
    if (reverse && !found) {
        if (at == 0) {
            it->depth--;
            cd__cow_next(it);
        } else {
            it->at[it->depth - 1] = at - 1;
        }
    } else if (!reverse && at == n->cnt) {
        it->depth--;
        cd__cow_next(it);
    }
}

const cd__cow_cell *cd__cow_at(const cd__cow_iter *it)
{
    return it->depth == 0 ? NULL : it->node[it->depth - 1]->cell[it->at[it->depth - 1]];
}
