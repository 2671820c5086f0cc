#include "vm/shared/memory.h"

#include "base/mem/mem.h"
#include "codec/linear.h"
#include "crypto/hash/sha2.h"

#include <stdlib.h>

/* Tables of the chain with the smaller ID; LARGER, or LARGER_TAKEN for TAKEN, is added for the other chain. */
enum { ELEMENTS = 0, BY_TRAIT = 1, TAKEN = 4, LARGER = 2, LARGER_TAKEN = 1 };

enum {
    HEAD_SIZE = 33, /* bytes of the ID of the pair and the table */
    ROW_MAX = HEAD_SIZE + 2 + CD_VM_MEMORY_TRAIT_MAX + CD_VM_MEMORY_KEY_MAX,
    ELEM_MAX = CD_VM_MEMORY_VALUE_MAX + CD_VM_MEMORY_TRAITS_MAX * (CD_VM_MEMORY_TRAIT_MAX + 4) + 64,
};

/* --- elements as they are stored --- */

typedef struct db_elem {
    bool is_present;
    cd_bytes value;
    cd_linear_list traits; /* cd_bytes */
} db_elem;

static const cd_linear_field trait_elem = {.kind = CD_LINEAR_BYTES, .len = CD_VM_MEMORY_TRAIT_MAX};
static const cd_linear_field elem_fields[] = {
    CD_LINEAR_FIELD(BOOL, db_elem, is_present, "present"),
    CD_LINEAR_FIELD(BYTES, db_elem, value, "value", .len = CD_VM_MEMORY_VALUE_MAX),
    CD_LINEAR_FIELD(LIST, db_elem, traits, "traits", .elem = &trait_elem, .len = CD_VM_MEMORY_TRAITS_MAX),
};
static const cd_linear_type elem_type = CD_LINEAR_TYPE(db_elem, elem_fields);

/* --- keys of rows --- */

/* The elements that one chain has left for another. */
typedef struct side {
    cd_hash32 pair;
    bool is_larger; /* the chain it was left for has the larger ID */
} side;

typedef struct row {
    u8 b[ROW_MAX];
    usize n;
} row;

void cd_vm_memory_pair(cd_hash32 *out, const cd_hash32 *a, const cd_hash32 *b)
{
    bool is_in_order = memcmp(a->b, b->b, 32) <= 0;
    u8 text[2 + 64] = {0};
    memcpy(text + 2, is_in_order ? a->b : b->b, 32);
    memcpy(text + 34, is_in_order ? b->b : a->b, 32);
    cd_sha256(out, cd_bytes_of(text, sizeof text));
}

static side side_of(const cd_hash32 *reader, const cd_hash32 *writer)
{
    side s = {.is_larger = memcmp(reader->b, writer->b, 32) > 0};
    cd_vm_memory_pair(&s.pair, reader, writer);
    return s;
}

static void add(row *r, cd_bytes b)
{
    CD_ASSERT(b.n <= ROW_MAX - r->n);
    if (b.n != 0) {
        memcpy(r->b + r->n, b.p, b.n);
    }
    r->n += b.n;
}

static void begin(row *r, const side *s, u8 table)
{
    u8 further = table == TAKEN ? LARGER_TAKEN : LARGER;
    memcpy(r->b, s->pair.b, 32);
    r->b[32] = (u8)(table + (s->is_larger ? further : 0));
    r->n = HEAD_SIZE;
}

static cd_bytes row_of(row *r, const side *s, u8 table, cd_bytes key)
{
    begin(r, s, table);
    add(r, key);
    return cd_bytes_of(r->b, r->n);
}

/* The part of the key with which all rows of a trait begin. */
static cd_bytes trait_row(row *r, const side *s, cd_bytes trait)
{
    u8 n[2];
    cd_put_be16(n, (u16)trait.n);
    begin(r, s, BY_TRAIT);
    add(r, cd_bytes_of(n, 2));
    add(r, trait);
    return cd_bytes_of(r->b, r->n);
}

/* --- reading --- */

static bool is_key(cd_bytes key)
{
    return key.n != 0 && key.n <= CD_VM_MEMORY_KEY_MAX;
}

/* Reads an element; its bytes are borrowed from text, and its list of traits lies in the arena. */
static cd_err load(db_elem *out, cd_buf *text, cd_arena *a, cd_kv *kv, const side *s, cd_bytes key)
{
    row r;
    CD_TRY(cd_kv_get(kv, text, row_of(&r, s, ELEMENTS, key)));
    *out = (db_elem){0};
    cd_err e = cd_linear_parse(out, &elem_type, a, cd_buf_bytes(text), ELEM_MAX, NULL);
    return e == CD_OK && out->is_present ? CD_OK : CD_ECORRUPT;
}

static cd_err is_taken(bool *out, cd_kv *kv, const side *s, cd_bytes key)
{
    row r;
    return cd_kv_has(kv, out, row_of(&r, s, TAKEN, key));
}

static const cd_vm_memory *memory_of(const cd_vm_shared *s)
{
    return (const cd_vm_memory *)(const void *)s;
}

/* Reads both rows of a key from one snapshot, since the other chain may be writing. */
static cd_err get_in(cd_kv *at, cd_bytes *out, cd_arena *a, const side *s, cd_bytes key)
{
    cd_buf text = {0};
    cd_arena scratch = {0};
    db_elem found;
    bool is_gone = false;
    cd_err e = load(&found, &text, &scratch, at, s, key);
    if (e == CD_OK) {
        e = is_taken(&is_gone, at, s, key);
    }
    if (e == CD_OK && is_gone) {
        e = CD_ENOENT;
    }
    if (e == CD_OK) {
        *out = cd_arena_dup(a, found.value);
    }
    cd_arena_fini(&scratch);
    cd_buf_fini(&text);
    return e;
}

static cd_err memory_get(const cd_vm_shared *shared, cd_bytes *out, cd_arena *a, const cd_hash32 *peer, cd_bytes key)
{
    const cd_vm_memory *m = memory_of(shared);
    side s = side_of(&m->chain_id, peer);
    cd_kv *at;
    if (!is_key(key)) {
        return CD_ENOENT;
    }
    CD_TRY(cd_kv_snapshot(&at, m->part));
    cd_err e = get_in(at, out, a, &s, key);
    cd_kv_close(at);
    return e;
}

/* --- walking --- */

static int by_bytes(const void *a, const void *b)
{
    return cd_bytes_cmp(*(const cd_bytes *)a, *(const cd_bytes *)b);
}

/* A walk through an index, over one snapshot of the store. */
typedef struct walk {
    cd_kv *at;
    side side;
    cd_bytes *traits; /* ascending */
    usize trait_cnt;
    cd_vm_shared_cursor from;
    usize max;
    cd_arena *a; /* memory of the values that are given */
    cd_bytes *out;
    usize cnt;
    usize cap;
    usize last_trait;
    u8 last_key[CD_VM_MEMORY_KEY_MAX];
    usize last_key_n;
    cd_buf text; /* text and scratch hold the element that is looked at */
    cd_arena scratch;
} walk;

/* Whether the walk gave the element already, at one of the traits before this one. */
static bool has_earlier(const walk *w, const db_elem *e, usize trait)
{
    const cd_bytes *own = e->traits.v;
    for (u32 i = 0; i < e->traits.cnt && trait != 0; i++) {
        if (bsearch(&own[i], w->traits, trait, sizeof *own, by_bytes) != NULL) {
            return true;
        }
    }
    return false;
}

static void give(walk *w, usize trait, cd_bytes key, cd_bytes value)
{
    if (w->cnt == w->cap) {
        usize more = w->cap == 0 ? 64 : 2 * w->cap;
        cd_bytes *moved = cd_arena_array(w->a, cd_bytes, more);
        if (w->cnt != 0) {
            memcpy(moved, w->out, w->cnt * sizeof *moved);
        }
        w->out = moved;
        w->cap = more;
    }
    w->out[w->cnt++] = cd_arena_dup(w->a, value);
    w->last_trait = trait;
    w->last_key_n = key.n;
    memcpy(w->last_key, key.p, key.n);
}

static cd_err visit(walk *w, usize trait, cd_bytes key)
{
    db_elem found;
    bool is_gone;
    cd_arena_reset(&w->scratch);
    CD_TRY(is_taken(&is_gone, w->at, &w->side, key));
    if (is_gone) {
        return CD_OK;
    }
    cd_err e = load(&found, &w->text, &w->scratch, w->at, &w->side, key);
    if (e != CD_OK) {
        return e == CD_ENOENT ? CD_ECORRUPT : e;
    }
    if (!has_earlier(w, &found, trait)) {
        give(w, trait, key, found.value);
    }
    return CD_OK;
}

/* Walks through one trait, behind from; from is empty when the walk has not been there yet. */
static cd_err walk_trait(walk *w, usize trait, cd_bytes from)
{
    row prefix;
    row start;
    cd_kv_range range = {.prefix = trait_row(&prefix, &w->side, w->traits[trait])};
    if (from.n != 0) {
        (void)trait_row(&start, &w->side, w->traits[trait]);
        add(&start, from);
        range.start = cd_bytes_of(start.b, start.n);
    }
    cd_kv_iter *it;
    CD_TRY(cd_kv_iter_new(&it, w->at, &range));
    cd_err e = CD_OK;
    while (e == CD_OK && w->cnt < w->max && cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        key = cd_bytes_sub(key, prefix.n, key.n - prefix.n);
        if (from.n == 0 || !cd_bytes_eq(key, from)) {
            e = visit(w, trait, key);
        }
    }
    e = e != CD_OK ? e : cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return e;
}

/* Sorts the traits that are asked for, each once; those longer than any element's are left out. */
static void ask(walk *w, const cd_bytes *traits, usize cnt)
{
    w->traits = cd_new_array(cd_bytes, cnt);
    for (usize i = 0; i < cnt; i++) {
        if (traits[i].n <= CD_VM_MEMORY_TRAIT_MAX) {
            w->traits[w->trait_cnt++] = traits[i];
        }
    }
    qsort(w->traits, w->trait_cnt, sizeof *w->traits, by_bytes);
    usize kept = 0;
    for (usize i = 0; i < w->trait_cnt; i++) {
        if (kept == 0 || !cd_bytes_eq(w->traits[kept - 1], w->traits[i])) {
            w->traits[kept++] = w->traits[i];
        }
    }
    w->trait_cnt = kept;
}

static cd_err memory_indexed(const cd_vm_shared *shared, cd_bytes **out, usize *cnt, cd_arena *a, const cd_hash32 *peer,
                             const cd_bytes *traits, usize trait_cnt, cd_vm_shared_cursor *at, usize max)
{
    const cd_vm_memory *m = memory_of(shared);
    walk w = {.side = side_of(&m->chain_id, peer), .from = *at, .max = max, .a = a};
    *out = NULL;
    *cnt = 0;
    if (max == 0 || at->key.n > CD_VM_MEMORY_KEY_MAX) {
        return CD_OK;
    }
    CD_TRY(cd_kv_snapshot(&w.at, m->part));
    ask(&w, traits, trait_cnt);
    cd_err e = CD_OK;
    for (usize i = 0; i < w.trait_cnt && w.cnt < max && e == CD_OK; i++) {
        int where = cd_bytes_cmp(w.traits[i], w.from.trait);
        if (where >= 0) {
            e = walk_trait(&w, i, where == 0 ? w.from.key : (cd_bytes){0});
        }
    }
    if (e == CD_OK) {
        *out = w.out;
        *cnt = w.cnt;
    }
    if (e == CD_OK && w.cnt != 0) {
        at->trait = cd_arena_dup(a, w.traits[w.last_trait]);
        at->key = cd_arena_dup(a, cd_bytes_of(w.last_key, w.last_key_n));
    }
    cd_kv_close(w.at);
    cd_free(w.traits);
    cd_buf_fini(&w.text);
    cd_arena_fini(&w.scratch);
    return e;
}

/* --- changing --- */

/* The rows that apply is about to append. */
typedef struct writing {
    const cd_vm_memory *m;
    cd_kv_batch batch;
    cd_buf text;
    cd_arena scratch;
} writing;

static cd_err remove_one(writing *c, const side *s, cd_bytes key)
{
    row r;
    db_elem found;
    bool is_gone;
    CD_TRY(is_taken(&is_gone, c->m->part, s, key));
    if (is_gone) {
        return CD_EEXIST;
    }
    cd_err e = load(&found, &c->text, &c->scratch, c->m->part, s, key);
    if (e == CD_ENOENT) {
        const db_elem none = {0};
        cd_buf_clear(&c->text);
        cd_linear_put(&c->text, &elem_type, &none);
        cd_kv_batch_put(&c->batch, row_of(&r, s, TAKEN, key), cd_buf_bytes(&c->text));
        return CD_OK;
    }
    CD_TRY(e);
    cd_kv_batch_del(&c->batch, row_of(&r, s, ELEMENTS, key));
    for (u32 i = 0; i < found.traits.cnt; i++) {
        (void)trait_row(&r, s, ((const cd_bytes *)found.traits.v)[i]);
        add(&r, key);
        cd_kv_batch_del(&c->batch, cd_bytes_of(r.b, r.n));
    }
    return CD_OK;
}

static bool is_within_bounds(const cd_vm_shared_elem *e)
{
    bool is = is_key(e->key) && e->value.n <= CD_VM_MEMORY_VALUE_MAX && e->trait_cnt <= CD_VM_MEMORY_TRAITS_MAX;
    for (usize i = 0; is && i < e->trait_cnt; i++) {
        is = e->traits[i].n <= CD_VM_MEMORY_TRAIT_MAX;
    }
    return is;
}

static cd_err put_one(writing *c, const side *s, const cd_vm_shared_elem *elem)
{
    row r;
    bool is_gone;
    bool is_there;
    if (!is_within_bounds(elem)) {
        return CD_ELIMIT;
    }
    CD_TRY(cd_kv_has(c->m->part, &is_there, row_of(&r, s, ELEMENTS, elem->key)));
    CD_TRY(is_taken(&is_gone, c->m->part, s, elem->key));
    if (is_there) {
        return CD_EEXIST;
    }
    if (is_gone) {
        cd_kv_batch_del(&c->batch, row_of(&r, s, TAKEN, elem->key));
        return CD_OK;
    }
    cd_bytes *traits = cd_arena_array(&c->scratch, cd_bytes, elem->trait_cnt);
    for (usize i = 0; i < elem->trait_cnt; i++) {
        traits[i] = elem->traits[i];
        (void)trait_row(&r, s, elem->traits[i]);
        add(&r, elem->key);
        cd_kv_batch_put(&c->batch, cd_bytes_of(r.b, r.n), (cd_bytes){0});
    }
    const db_elem v = {
        .is_present = true,
        .value = elem->value,
        .traits = {.v = traits, .cnt = (u32)elem->trait_cnt},
    };
    cd_buf_clear(&c->text);
    cd_linear_put(&c->text, &elem_type, &v);
    cd_kv_batch_put(&c->batch, row_of(&r, s, ELEMENTS, elem->key), cd_buf_bytes(&c->text));
    return CD_OK;
}

static cd_err change_with(writing *c, const cd_vm_shared_change *x)
{
    const side in = side_of(&c->m->chain_id, &x->peer);
    const side out = side_of(&x->peer, &c->m->chain_id);
    if (cd_hash32_eq(&x->peer, &c->m->chain_id)) {
        return CD_EINVAL;
    }
    for (usize i = 0; i < x->remove_cnt; i++) {
        cd_arena_reset(&c->scratch);
        CD_TRY(is_key(x->removes[i]) ? CD_OK : CD_ELIMIT);
        CD_TRY(remove_one(c, &in, x->removes[i]));
    }
    for (usize i = 0; i < x->put_cnt; i++) {
        cd_arena_reset(&c->scratch);
        CD_TRY(put_one(c, &out, &x->puts[i]));
    }
    return CD_OK;
}

/* A key that a change puts or removes, with the peer. */
typedef struct named {
    const cd_hash32 *peer;
    bool is_put;
    cd_bytes key;
} named;

static int by_name(const void *a, const void *b)
{
    const named *x = a;
    const named *y = b;
    int c = memcmp(x->peer->b, y->peer->b, 32);
    c = c != 0 ? c : (int)x->is_put - (int)y->is_put;
    return c != 0 ? c : cd_bytes_cmp(x->key, y->key);
}

/* Whether a key stands twice in one call. The store cannot tell, as it does not know the batch yet. */
static bool has_double(const cd_vm_shared_change *changes, usize cnt)
{
    usize all = 0;
    usize n = 0;
    for (usize i = 0; i < cnt; i++) {
        all += changes[i].remove_cnt + changes[i].put_cnt;
    }
    named *names = cd_new_array(named, all);
    for (usize i = 0; i < cnt; i++) {
        const cd_vm_shared_change *c = &changes[i];
        for (usize k = 0; k < c->remove_cnt; k++) {
            names[n++] = (named){.peer = &c->peer, .key = c->removes[k]};
        }
        for (usize k = 0; k < c->put_cnt; k++) {
            names[n++] = (named){.peer = &c->peer, .is_put = true, .key = c->puts[k].key};
        }
    }
    qsort(names, n, sizeof *names, by_name);
    bool has = false;
    for (usize i = 1; i < n && !has; i++) {
        has = by_name(&names[i - 1], &names[i]) == 0;
    }
    cd_free(names);
    return has;
}

static cd_err memory_apply(const cd_vm_shared *shared, cd_kv_batch *batch, const cd_vm_shared_change *list, usize cnt)
{
    writing c = {.m = memory_of(shared)};
    cd_err e = has_double(list, cnt) ? CD_EEXIST : CD_OK;
    cd_kv_batch_for(&c.batch, c.m->part);
    for (usize i = 0; i < cnt && e == CD_OK; i++) {
        e = change_with(&c, &list[i]);
    }
    if (e == CD_OK) {
        cd_kv_batch_widen(batch);
        cd_kv_batch_append(batch, &c.batch);
    }
    cd_kv_batch_fini(&c.batch);
    cd_buf_fini(&c.text);
    cd_arena_fini(&c.scratch);
    return e;
}

void cd_vm_memory_init(cd_vm_memory *m, cd_kv *part, const cd_hash32 *chain_id)
{
    *m = (cd_vm_memory){
        .shared = {.get = memory_get, .indexed = memory_indexed, .apply = memory_apply},
        .part = part,
        .chain_id = *chain_id,
    };
}
