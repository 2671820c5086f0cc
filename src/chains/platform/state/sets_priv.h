/* chains/platform/state/sets_priv.h - the weights of a net's validators, changed and noted in one place.
 *
 * 'W' is what holds now. The first change of (net, node) in a block notes in 'D' what held before it, so the set at an
 * older height is that of a newer one with the notes between them put back. When more changes than there are
 * validators have come together, the whole set goes to 'Z' before the next block's first change, so no walk
 * back is longer than a set. [spec:consensus#7] */
#ifndef CD_PLATFORM_SETS_PRIV_H
#define CD_PLATFORM_SETS_PRIV_H

#include "chains/platform/state/state.h"

/* What a validator counts for. */
typedef struct cd__seat {
    u64 weight; /* 0: it is none */
    bool has_key;
    u8 key[96];
} cd__seat;

enum { CD__SEAT_MAX = 8 + 96 };

/* cd__seat_enc writes a seat that weighs something and gives its length; cd__seat_dec reads one, no bytes: weight 0. */
usize cd__seat_enc(u8 out[CD__SEAT_MAX], const cd__seat *seat);
cd_err cd__seat_dec(cd__seat *out, cd_bytes in) CD_CHECK;

/* cd__seat_get reads the seat of (net, node). */
cd_err cd__seat_get(const cd_pstate *s, cd__seat *out, const cd_hash32 *net, const cd_node_id *node) CD_CHECK;

/* cd__seat_add and cd__seat_sub change its weight; key replaces the key when it is not NULL. Errors: CD_ERANGE. */
cd_err cd__seat_add(const cd_pstate *s, const cd_hash32 *net, const cd_node_id *node, u64 weight,
                    const u8 *key) CD_CHECK;
cd_err cd__seat_sub(const cd_pstate *s, const cd_hash32 *net, const cd_node_id *node, u64 weight) CD_CHECK;

#endif
