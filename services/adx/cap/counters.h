/* services/adx/cap/counters.h - counters by 16-byte labels, ten million of them in less than 300 MB.
 *
 *   shard (of 64)   labels [16 bytes][16 bytes] ...     open addressing, linear probing, at most 85 % full;
 *                   slots  [cnt cap ][cnt cap ] ...     cap 0: an empty slot. 20 bytes a slot.
 *
 * A shard grows by a quarter, alone: no pause is longer than moving a 64th. Labels are pseudo-random (keyed hashes),
 * so their own bytes place them. Threading: confined. [spec:adx#7.1] */
#ifndef CD_ADX_CAP_COUNTERS_H
#define CD_ADX_CAP_COUNTERS_H

#include "base/bytes.h"

enum { CD_COUNTERS_SHARDS = 64 };

/* A name of 16 bytes that tells nothing of what it stands for. */
typedef struct cd_label16 {
    u8 b[16];
} cd_label16;

/* A counter: how often, and the cap it was made with (1 or more). */
typedef struct cd_freq_counter {
    u16 cnt, cap;
} cd_freq_counter;

/* A part of the counters: open addressing, so a counter is found by its label. */
typedef struct cd_counters_shard {
    cd_label16 *labels;
    cd_freq_counter *slots;
    usize size, used;
} cd_counters_shard;

/* All zero but for max is a valid, empty set. */
typedef struct cd_counters {
    cd_counters_shard shards[CD_COUNTERS_SHARDS];
    usize used, max;
} cd_counters;

/* cd_counters_get gives the counter of a label, made with cap where there is none; NULL when there are max already.
 * Borrowed until the next call. cd_counters_peek gives NULL where there is none. */
cd_freq_counter *cd_counters_get(cd_counters *c, const cd_label16 *label, u16 cap);
const cd_freq_counter *cd_counters_peek(const cd_counters *c, const cd_label16 *label);

/* cd_counters_clear forgets all and gives the memory back. */
void cd_counters_clear(cd_counters *c);

#endif
