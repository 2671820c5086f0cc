#include "services/webhook/core/chain/index.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"

#define GROUP_FLAG ((u64)1 << CD__WH_REF_BITS)
#define VALUE_MASK (GROUP_FLAG - 1)
#define TAG_SHIFT  (CD__WH_REF_BITS + 1)
#define TAG_MASK   (~(u64)0 << TAG_SHIFT)

enum { CAP_MIN = 16, GROUP_MIN = 4 };

void cd__wh_index_init(cd__wh_index *x, cd__wh_key_fn *key, const void *ctx)
{
    cd_rng rng = cd_rng_os();
    *x = (cd__wh_index){.key = key, .ctx = ctx};
    x->sipkey = (cd_sipkey){.k0 = cd_rng_u64(&rng), .k1 = cd_rng_u64(&rng)};
}

void cd__wh_index_fini(cd__wh_index *x)
{
    for (usize i = 0; i < CD__WH_SHARDS; i++) {
        cd_free(x->shards[i].slots);
    }
    for (u32 i = 1; i < x->groups_cnt; i++) {
        cd_free(x->groups[i].refs);
    }
    cd_free(x->groups);
    *x = (cd__wh_index){0};
}

u64 cd__wh_index_hash(const cd__wh_index *x, cd_bytes key)
{
    return cd_siphash13(x->sipkey, key);
}

/* The bits of the hash that neither shard nor place are made of. */
static u64 tag_of(u64 hash)
{
    return hash << 8 & TAG_MASK;
}

/* A ref behind a slot: all of a group have the same key. */
static u64 slot_ref(const cd__wh_index *x, u64 slot)
{
    u64 value = slot & VALUE_MASK;
    return (slot & GROUP_FLAG) != 0 ? x->groups[value].refs[0] : value;
}

/* The slot of a key, or the free one where it would go. The shard has slots, some of them free. */
static u64 *slot_find(const cd__wh_index *x, const cd__wh_shard *s, u64 hash, cd_bytes key)
{
    u32 mask = s->cap - 1;
    for (u32 i = (u32)hash & mask;; i = (i + 1) & mask) {
        u64 slot = s->slots[i];
        if (slot == 0 || ((slot & TAG_MASK) == tag_of(hash) && cd_bytes_eq(x->key(x->ctx, slot_ref(x, slot)), key))) {
            return &s->slots[i];
        }
    }
}

usize cd__wh_index_get(const cd__wh_index *x, const u64 **refs, u64 *one, u64 hash, cd_bytes key)
{
    const cd__wh_shard *s = &x->shards[hash >> 56];
    if (s->cnt == 0) {
        return 0;
    }
    u64 slot = *slot_find(x, s, hash, key);
    if (slot == 0) {
        return 0;
    }
    if ((slot & GROUP_FLAG) != 0) {
        const cd__wh_group *g = &x->groups[slot & VALUE_MASK];
        *refs = g->refs;
        return g->cnt;
    }
    *one = slot & VALUE_MASK;
    *refs = one;
    return 1;
}

static void shard_grow(cd__wh_index *x, cd__wh_shard *s)
{
    cd__wh_shard old = *s;
    s->cap = old.cap == 0 ? CAP_MIN : 2 * old.cap;
    s->slots = cd_new_array(u64, s->cap);
    for (u32 i = 0; i < old.cap; i++) {
        if (old.slots[i] != 0) {
            cd_bytes key = x->key(x->ctx, slot_ref(x, old.slots[i]));
            u32 at = (u32)cd__wh_index_hash(x, key) & (s->cap - 1);
            while (s->slots[at] != 0) {
                at = (at + 1) & (s->cap - 1);
            }
            s->slots[at] = old.slots[i];
        }
    }
    cd_free(old.slots);
}

static u64 group_new(cd__wh_index *x)
{
    u32 at = x->groups_free;
    if (at != 0) {
        x->groups_free = x->groups[at].cap;
    } else {
        if (x->groups_cnt == x->groups_cap) {
            x->groups_cap = x->groups_cap == 0 ? CAP_MIN : 2 * x->groups_cap;
            x->groups = cd_realloc(x->groups, x->groups_cap * sizeof *x->groups);
            x->groups_cnt += x->groups_cnt == 0;
        }
        at = x->groups_cnt++;
    }
    x->groups[at] = (cd__wh_group){.refs = cd_new_array(u64, GROUP_MIN), .cap = GROUP_MIN};
    return at;
}

static void group_add(cd__wh_group *g, u64 ref)
{
    if (g->cnt == g->cap) {
        g->cap *= 2;
        g->refs = cd_realloc(g->refs, g->cap * sizeof *g->refs);
    }
    g->refs[g->cnt++] = ref;
}

void cd__wh_index_put(cd__wh_index *x, u64 ref)
{
    cd_bytes key = x->key(x->ctx, ref);
    u64 hash = cd__wh_index_hash(x, key);
    cd__wh_shard *s = &x->shards[hash >> 56];
    CD_ASSERT(ref != 0 && ref <= VALUE_MASK);
    if (4 * (u64)s->cnt >= 3 * (u64)s->cap) {
        shard_grow(x, s);
    }
    u64 *slot = slot_find(x, s, hash, key);
    if (*slot == 0) {
        *slot = tag_of(hash) | ref;
        s->cnt++;
        return;
    }
    if ((*slot & GROUP_FLAG) == 0) {
        u64 first = *slot & VALUE_MASK;
        u64 group = group_new(x);
        group_add(&x->groups[group], first);
        *slot = tag_of(hash) | GROUP_FLAG | group;
    }
    group_add(&x->groups[*slot & VALUE_MASK], ref);
}

/* Frees a slot and moves back what was pushed behind it. */
static void slot_free(cd__wh_index *x, cd__wh_shard *s, u32 hole)
{
    u32 mask = s->cap - 1;
    s->cnt--;
    s->slots[hole] = 0;
    for (u32 i = (hole + 1) & mask; s->slots[i] != 0; i = (i + 1) & mask) {
        cd_bytes key = x->key(x->ctx, slot_ref(x, s->slots[i]));
        u32 home = (u32)cd__wh_index_hash(x, key) & mask;
        /* It may move when its home is not between the hole and itself. */
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            s->slots[hole] = s->slots[i];
            s->slots[i] = 0;
            hole = i;
        }
    }
}

void cd__wh_index_del(cd__wh_index *x, u64 ref)
{
    cd_bytes key = x->key(x->ctx, ref);
    u64 hash = cd__wh_index_hash(x, key);
    cd__wh_shard *s = &x->shards[hash >> 56];
    u64 *slot = slot_find(x, s, hash, key);
    CD_ASSERT(*slot != 0);
    if ((*slot & GROUP_FLAG) == 0) {
        CD_ASSERT((*slot & VALUE_MASK) == ref);
        slot_free(x, s, (u32)(slot - s->slots));
        return;
    }
    u32 at = (u32)(*slot & VALUE_MASK);
    cd__wh_group *g = &x->groups[at];
    u32 i = 0;
    while (g->refs[i] != ref) {
        i++;
        CD_ASSERT(i < g->cnt);
    }
    g->refs[i] = g->refs[--g->cnt];
    if (g->cnt == 0) {
        /* slot_free reads keys of other slots only. */
        slot_free(x, s, (u32)(slot - s->slots));
        cd_free(g->refs);
        *g = (cd__wh_group){.cap = x->groups_free};
        x->groups_free = at;
    }
}
