#include "base/table/hmap.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "base/table/siphash.h"

#include <pthread.h>

enum { CAP_MIN = 8, CLEAR_KEEP = 1024 };

/* One key for all keyed maps of the process, drawn when the first one is made. */
static cd_sipkey process_key;
static pthread_once_t process_key_once = PTHREAD_ONCE_INIT;

static void process_key_draw(void)
{
    cd_rng os = cd_rng_os();
    cd_rng_fill(&os, &process_key, sizeof process_key);
}

void cd_hmap_init(cd_hmap *m, cd_hash_kind kind, u32 key_size, u32 val_size)
{
    CD_ASSERT(key_size >= (kind == CD_HASH_IDENTITY ? 8 : 1));
    CD_ASSERT(key_size <= 4096 && val_size <= 65536);
    if (kind == CD_HASH_KEYED) {
        (void)pthread_once(&process_key_once, process_key_draw);
    }
    u32 val_off = val_size == 0 ? 0 : (key_size + 7) & ~7u;
    u32 stride = val_size == 0 ? key_size : (val_off + val_size + 7) & ~7u;
    *m = (cd_hmap){
        .key_size = key_size,
        .val_off = val_off,
        .val_size = val_size,
        .stride = stride,
        .kind = kind,
    };
}

void cd_hmap_fini(cd_hmap *m)
{
    cd_free(m->slots);
    m->slots = NULL;
    m->ctrl = NULL;
    m->cap = 0;
    m->cnt = 0;
}

static u64 hash_of(const cd_hmap *m, const void *key)
{
    if (m->kind == CD_HASH_IDENTITY) {
        return cd_le64(key);
    }
    return cd_siphash13(process_key, cd_bytes_of(key, m->key_size));
}

/* Gives the control byte of a hash. It takes the highest bits, as the lowest ones choose the slot. */
static u8 tag_of(u64 hash)
{
    return (u8)(0x80 | hash >> 57);
}

static u8 *slot_at(const cd_hmap *m, usize i)
{
    return m->slots + i * m->stride;
}

/* Compares keys; the compiler inlines the comparison for the sizes that matter: hashes and addresses. */
static bool key_eq(const cd_hmap *m, const u8 *a, const void *b)
{
    if (m->key_size == 32) {
        return memcmp(a, b, 32) == 0;
    }
    if (m->key_size == 20) {
        return memcmp(a, b, 20) == 0;
    }
    return memcmp(a, b, m->key_size) == 0;
}

/* Gives the slot that holds key, or the empty one where it belongs. The table is never full. */
static usize slot_find(const cd_hmap *m, const void *key, u64 hash, bool *found)
{
    usize mask = m->cap - 1;
    u8 tag = tag_of(hash);
    usize i = (usize)hash & mask;
    while (m->ctrl[i] != 0) {
        if (m->ctrl[i] == tag && key_eq(m, slot_at(m, i), key)) {
            *found = true;
            return i;
        }
        i = (i + 1) & mask;
    }
    *found = false;
    return i;
}

/* Slots and control bytes share one block; the control bytes come last. */
static void table_make(cd_hmap *m, usize cap)
{
    usize bytes;
    CD_ASSERT(!__builtin_mul_overflow(cap, (usize)m->stride + 1, &bytes));
    m->slots = cd_realloc(NULL, bytes);
    m->ctrl = m->slots + cap * m->stride;
    memset(m->ctrl, 0, cap);
    m->cap = cap;
}

static void table_grow(cd_hmap *m, usize cap)
{
    cd_hmap old = *m;
    table_make(m, cap);
    for (usize i = 0; i < old.cap; i++) {
        if (old.ctrl[i] != 0) {
            const u8 *slot = slot_at(&old, i);
            u64 hash = hash_of(m, slot);
            usize at = (usize)hash & (cap - 1);
            while (m->ctrl[at] != 0) {
                at = (at + 1) & (cap - 1);
            }
            m->ctrl[at] = old.ctrl[i];
            memcpy(slot_at(m, at), slot, m->stride);
        }
    }
    cd_free(old.slots);
}

static bool has_room(usize cap, usize cnt)
{
    return cnt <= cap - cap / 4;
}

void cd_hmap_reserve(cd_hmap *m, usize cnt)
{
    CD_ASSERT(cnt <= SIZE_MAX / 4);
    usize cap = m->cap < CAP_MIN ? CAP_MIN : m->cap;
    while (!has_room(cap, cnt)) {
        cap *= 2;
    }
    if (cap > m->cap) {
        table_grow(m, cap);
    }
}

void *cd_hmap_get(const cd_hmap *m, const void *key)
{
    if (m->cnt == 0) {
        return NULL;
    }
    bool found;
    usize i = slot_find(m, key, hash_of(m, key), &found);
    return found ? slot_at(m, i) + m->val_off : NULL;
}

void *cd_hmap_put(cd_hmap *m, bool *is_new, const void *key)
{
    if (m->cap == 0) {
        table_grow(m, CAP_MIN);
    }
    u64 hash = hash_of(m, key);
    bool found;
    usize i = slot_find(m, key, hash, &found);
    if (!found) {
        if (!has_room(m->cap, m->cnt + 1)) {
            table_grow(m, m->cap * 2);
            i = slot_find(m, key, hash, &found);
        }
        u8 *slot = slot_at(m, i);
        memset(slot, 0, m->stride);
        memcpy(slot, key, m->key_size);
        m->ctrl[i] = tag_of(hash);
        m->cnt++;
        found = false;
    }
    if (is_new != NULL) {
        *is_new = !found;
    }
    return slot_at(m, i) + m->val_off;
}

bool cd_hmap_del(cd_hmap *m, const void *key)
{
    if (m->cnt == 0) {
        return false;
    }
    bool found;
    usize mask = m->cap - 1;
    usize hole = slot_find(m, key, hash_of(m, key), &found);
    if (!found) {
        return false;
    }
    /* Fills the hole with the next entry behind it that may move back without passing its home slot, and so on. */
    for (usize i = (hole + 1) & mask; m->ctrl[i] != 0; i = (i + 1) & mask) {
        usize home = (usize)hash_of(m, slot_at(m, i)) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            memcpy(slot_at(m, hole), slot_at(m, i), m->stride);
            m->ctrl[hole] = m->ctrl[i];
            hole = i;
        }
    }
    m->ctrl[hole] = 0;
    m->cnt--;
    return true;
}

void cd_hmap_clear(cd_hmap *m)
{
    if (m->cap > CLEAR_KEEP && m->cnt < m->cap / 16) {
        cd_hmap_fini(m);
        return;
    }
    if (m->cnt != 0) {
        memset(m->ctrl, 0, m->cap);
        m->cnt = 0;
    }
}

bool cd_hmap_next(const cd_hmap *m, usize *it, const void **key, void **val)
{
    for (usize i = *it; i < m->cap; i++) {
        if (m->ctrl[i] != 0) {
            *it = i + 1;
            if (key != NULL) {
                *key = slot_at(m, i);
            }
            if (val != NULL) {
                *val = slot_at(m, i) + m->val_off;
            }
            return true;
        }
    }
    *it = m->cap;
    return false;
}
