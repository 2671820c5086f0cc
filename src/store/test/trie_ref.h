/* store/test/trie_ref.h - the trie by the book: the root of a sorted list of items, computed
 * recursively straight from the definition. Slow, obvious, and sharing no code with the trie.
 *
 * Threading: pure. */
#ifndef CD_STORE_TEST_TRIE_REF_H
#define CD_STORE_TEST_TRIE_REF_H

#include "base/mem/buf.h"
#include "store/trie.h"

#include <stdlib.h>

static inline unsigned ref_nib(cd_bytes key, usize d)
{
    return d % 2 == 0 ? key.p[d / 2] >> 4 : key.p[d / 2] & 15u;
}

static inline void ref_header(cd_buf *out, u8 base, usize n)
{
    if (n < 56) {
        cd_buf_u8(out, (u8)(base + n));
        return;
    }
    u8 be[8];
    int size = 0;
    for (usize v = n; v != 0; v >>= 8) {
        size++;
    }
    cd_buf_u8(out, (u8)(base + 55 + size));
    for (int i = size; i-- > 0;) {
        be[0] = (u8)(n >> (8 * i));
        cd_buf_u8(out, be[0]);
    }
}

static inline void ref_string(cd_buf *out, cd_bytes s)
{
    if (s.n != 1 || s.p[0] >= 0x80) {
        ref_header(out, 0x80, s.n);
    }
    cd_buf_put(out, s);
}

static inline void ref_path(cd_buf *out, cd_bytes key, usize from, usize to, bool is_leaf)
{
    u8 hp[CD_TRIE_MAX_KEY + 1];
    usize n = 0;
    unsigned flag = is_leaf ? 2 : 0;
    if ((to - from) % 2 == 1) {
        hp[n++] = (u8)((flag + 1) << 4 | ref_nib(key, from));
        from++;
    } else {
        hp[n++] = (u8)(flag << 4);
    }
    for (; from < to; from += 2) {
        hp[n++] = (u8)(ref_nib(key, from) << 4 | ref_nib(key, from + 1));
    }
    ref_string(out, cd_bytes_of(hp, n));
}

static inline void ref_node(cd_buf *out, const cd_trie_item *items, usize cnt, usize d);

/* What a parent writes for the node over items: its encoding if short, else its hash. */
static inline void ref_child(cd_buf *out, const cd_trie_item *items, usize cnt, usize d)
{
    cd_buf node = {0};
    ref_node(&node, items, cnt, d);
    if (node.n < 32) {
        cd_buf_put(out, cd_buf_bytes(&node));
    } else {
        cd_hash32 h;
        cd_keccak256(&h, cd_buf_bytes(&node));
        ref_string(out, cd_bytes_of(h.b, 32));
    }
    cd_buf_fini(&node);
}

static inline void ref_node(cd_buf *out, const cd_trie_item *items, usize cnt, usize d)
{
    cd_buf body = {0};
    if (cnt == 1) {
        ref_path(&body, items[0].key, d, 2 * items[0].key.n, true);
        ref_string(&body, items[0].value);
        goto out;
    }
    usize fork = d;
    cd_bytes first = items[0].key;
    cd_bytes last = items[cnt - 1].key;
    while (fork < 2 * first.n && fork < 2 * last.n && ref_nib(first, fork) == ref_nib(last, fork)) {
        fork++;
    }
    if (fork > d) {
        ref_path(&body, first, d, fork, false);
        ref_child(&body, items, cnt, fork);
        goto out;
    }
    usize at = 2 * first.n == d ? 1 : 0;
    for (unsigned n = 0; n < 16; n++) {
        usize end = at;
        while (end < cnt && ref_nib(items[end].key, d) == n) {
            end++;
        }
        if (end == at) {
            cd_buf_u8(&body, 0x80);
        } else {
            ref_child(&body, items + at, end - at, d + 1);
        }
        at = end;
    }
    ref_string(&body, 2 * first.n == d ? items[0].value : cd_bytes_of(NULL, 0));
out:
    ref_header(out, 0xc0, body.n);
    cd_buf_put(out, cd_buf_bytes(&body));
    cd_buf_fini(&body);
}

/* ref_root gives the root over items, whose keys ascend strictly. */
static inline cd_hash32 ref_root(const cd_trie_item *items, usize cnt)
{
    cd_buf node = {0};
    cd_hash32 h;
    if (cnt == 0) {
        cd_buf_u8(&node, 0x80);
    } else {
        ref_node(&node, items, cnt, 0);
    }
    cd_keccak256(&h, cd_buf_bytes(&node));
    cd_buf_fini(&node);
    return h;
}

/* A plain sorted map to run beside the trie. Keys and values are at most 96 bytes. */
typedef struct ref_pair {
    u8 key_n;
    u8 value_n;
    u8 key[CD_TRIE_MAX_KEY];
    u8 value[96];
} ref_pair;

typedef struct ref_map {
    ref_pair *pair;
    usize cnt;
    usize cap;
} ref_map;

static inline usize ref_find(const ref_map *m, cd_bytes key)
{
    usize i = 0;
    while (i < m->cnt && cd_bytes_cmp(cd_bytes_of(m->pair[i].key, m->pair[i].key_n), key) < 0) {
        i++;
    }
    return i;
}

static inline bool ref_is_at(const ref_map *m, usize i, cd_bytes key)
{
    return i < m->cnt && cd_bytes_eq(cd_bytes_of(m->pair[i].key, m->pair[i].key_n), key);
}

/* ref_put sets, or deletes when value is empty. */
static inline void ref_put(ref_map *m, cd_bytes key, cd_bytes value)
{
    usize i = ref_find(m, key);
    bool found = ref_is_at(m, i, key);
    if (value.n == 0) {
        if (found) {
            m->cnt--;
            memmove(m->pair + i, m->pair + i + 1, (m->cnt - i) * sizeof *m->pair);
        }
        return;
    }
    if (!found) {
        if (m->cnt == m->cap) {
            m->cap = m->cap == 0 ? 64 : 2 * m->cap;
            m->pair = realloc(m->pair, m->cap * sizeof *m->pair);
        }
        memmove(m->pair + i + 1, m->pair + i, (m->cnt - i) * sizeof *m->pair);
        m->cnt++;
        m->pair[i].key_n = (u8)key.n;
        if (key.n != 0) {
            memcpy(m->pair[i].key, key.p, key.n);
        }
    }
    m->pair[i].value_n = (u8)value.n;
    memcpy(m->pair[i].value, value.p, value.n);
}

/* ref_items borrows the map as items; free the array. */
static inline cd_trie_item *ref_items(const ref_map *m)
{
    cd_trie_item *items = calloc(m->cnt + 1, sizeof *items);
    for (usize i = 0; i < m->cnt; i++) {
        items[i].key = cd_bytes_of(m->pair[i].key, m->pair[i].key_n);
        items[i].value = cd_bytes_of(m->pair[i].value, m->pair[i].value_n);
    }
    return items;
}

static inline cd_hash32 ref_map_root(const ref_map *m)
{
    cd_trie_item *items = ref_items(m);
    cd_hash32 h = ref_root(items, m->cnt);
    free(items);
    return h;
}

#endif
