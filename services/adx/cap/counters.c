#include "services/adx/cap/counters.h"

#include "base/mem/mem.h"

enum { FULL_PERCENT = 85, FIRST = 64 };

static cd_counters_shard *shard_of(const cd_counters *c, const cd_label16 *label)
{
    return (cd_counters_shard *)&c->shards[label->b[15] % CD_COUNTERS_SHARDS];
}

/* The slot of a label: where it is, or the empty one where it would be. */
static usize place(const cd_counters_shard *s, const cd_label16 *label)
{
    usize at = (usize)((u128)cd_le64(label->b) * s->size >> 64);
    while (s->slots[at].cap != 0 && memcmp(&s->labels[at], label, sizeof *label) != 0) {
        at = at + 1 == s->size ? 0 : at + 1;
    }
    return at;
}

static void grow(cd_counters_shard *s)
{
    cd_counters_shard old = *s;
    s->size = old.size == 0 ? FIRST : old.size + old.size / 4;
    s->labels = cd_new_array(cd_label16, s->size);
    s->slots = cd_new_array(cd_freq_counter, s->size);
    for (usize i = 0; i < old.size; i++) {
        if (old.slots[i].cap != 0) {
            usize at = place(s, &old.labels[i]);
            s->labels[at] = old.labels[i];
            s->slots[at] = old.slots[i];
        }
    }
    cd_free(old.labels);
    cd_free(old.slots);
}

cd_freq_counter *cd_counters_get(cd_counters *c, const cd_label16 *label, u16 cap)
{
    cd_counters_shard *s = shard_of(c, label);
    CD_ASSERT(cap != 0);
    usize at = s->size == 0 ? 0 : place(s, label);
    if (s->size != 0 && s->slots[at].cap != 0) {
        return &s->slots[at];
    }
    if (c->used >= c->max) {
        return NULL;
    }
    if ((s->used + 1) * 100 > s->size * FULL_PERCENT) {
        grow(s);
        at = place(s, label);
    }
    s->labels[at] = *label;
    s->slots[at] = (cd_freq_counter){.cap = cap};
    s->used++;
    c->used++;
    return &s->slots[at];
}

const cd_freq_counter *cd_counters_peek(const cd_counters *c, const cd_label16 *label)
{
    const cd_counters_shard *s = shard_of(c, label);
    usize at = s->size == 0 ? 0 : place(s, label);
    return s->size == 0 || s->slots[at].cap == 0 ? NULL : &s->slots[at];
}

void cd_counters_clear(cd_counters *c)
{
    for (usize i = 0; i < CD_COUNTERS_SHARDS; i++) {
        cd_free(c->shards[i].labels);
        cd_free(c->shards[i].slots);
    }
    *c = (cd_counters){.max = c->max};
}
