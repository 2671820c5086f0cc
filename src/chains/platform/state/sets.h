/* chains/platform/state/sets.h - who validates a net at a height of the P-Chain: vm/validators.h for all others.
 *
 *   height asked ──► kept lately? ──► nearest copy above it, or the set of today, minus the changes in between
 *
 * What accepting writes (stakers.h, l1.h) is all it takes; nothing has to be told but when blocks are accepted, for
 * the lowest height that others should refer to. At most CD_SETS_KEPT sets and CD_SETS_KEPT_BYTES are kept.
 * Threading: shared. [spec:consensus#7] */
#ifndef CD_PLATFORM_SETS_H
#define CD_PLATFORM_SETS_H

#include "base/os/clock.h"
#include "chains/platform/state/state.h"
#include "vm/validators.h"

enum { CD_SETS_KEPT = 256, CD_SETS_KEPT_BYTES = 64 << 20 };

/* cd_pstate_set_at gives the validators of a net at a height, ascending by node ID, in a; s must not change while it
 * runs (a snapshot, a sealed layer). Errors: CD_ERANGE when the height is not accepted yet. */
cd_err cd_pstate_set_at(const cd_pstate *s, const cd_vm_validator **out, usize *cnt, cd_arena *a, const cd_hash32 *net,
                        u64 height) CD_CHECK;

typedef struct cd_sets cd_sets;

/* cd_sets_new reads base, the part of the store that accepted blocks are written to; it borrows base and clock. */
cd_sets *cd_sets_new(cd_kv *base, const cd_clock *clock) __attribute__((returns_nonnull));
void cd_sets_free(cd_sets *sets); /* NULL is allowed */

/* cd_sets_validators borrows the interface. */
const cd_vm_validators *cd_sets_validators(const cd_sets *sets);

/* cd_sets_count_uptime says who counts how long validators are reachable, for the interface; before others ask. */
struct cd_uptime;
void cd_sets_count_uptime(cd_sets *sets, struct cd_uptime *uptime);

/* cd_sets_accepted tells that the block of a height was accepted just now, and is in base. */
void cd_sets_accepted(cd_sets *sets, u64 height);

#endif
