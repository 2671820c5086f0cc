/* evm/code.h - byte code prepared for running: a padded copy, its jump map, and what hot code
 * earns.
 *
 *   code hash ──► cd__code { bytes + zero padding, jump map (made at the first jump), cells (tier 1) }
 *                    ▲
 *   cd__code_cache ──┘  open-addressed by code hash, least recently used out first, bounded by bytes
 *
 * The padding lets an interpreter read push data and run over the end without checks: it meets a
 * STOP. A frame pins the code it runs. Init code gets a cd__code too, in an arena and without an
 * entry here. Threading: confined (a cache belongs to one cd_evm). [spec:evm-performance#1] */
#ifndef CD_EVM_CODE_H
#define CD_EVM_CODE_H

#include "base/arena.h"
#include "evm/rules.h"

struct cd__cells;

/* Zero bytes behind the code: the longest push data and a STOP after it. */
enum { CD__CODE_PAD = 40 };

/* Room for all cached code, its maps and its cells. */
enum { CD__CODE_CACHE_BYTES = 64 << 20 };

typedef struct cd__code {
    const u8 *bytes; /* n of them and CD__CODE_PAD zeros */
    usize n;
    const u64 *jumps; /* bit i: a jump to i is valid; n + 1 bits. NULL until cd__code_jumps */
    u64 *jumps_room;
    struct cd__cells *cells; /* NULL until hot */
    u64 gas_run;             /* executed in this code so far, for the choice of tier */
    u32 calls;
    u32 pins;    /* frames running it */
    bool cached; /* in a cache; else in an arena */
    cd_hash32 hash;
    usize size; /* bytes charged to the cache */
    struct cd__code *newer;
    struct cd__code *older;
} cd__code;

typedef struct cd__code_cache {
    cd__code **slots; /* open addressing, linear probing */
    usize mask;
    usize cnt;
    usize bytes;
    usize limit;
    u64 key; /* odd; hides which hashes collide from whoever chooses the code */
    cd__code *newest;
    cd__code *oldest;
} cd__code_cache;

/* The cache is made empty and ended once. */
void cd__code_cache_init(cd__code_cache *c, u64 key, usize limit);
void cd__code_cache_fini(cd__code_cache *c);

/* cd__code_get gives the entry of code with this hash, making it if needed. Borrowed: it stays
 * until the next cd__code_get unless pinned. */
cd__code *cd__code_get(cd__code_cache *c, const cd_hash32 *hash, cd_bytes code);

/* cd__code_grown charges n more bytes (cells) to an entry; n may be negative. */
void cd__code_grown(cd__code_cache *c, cd__code *code, i64 n);

/* cd__code_temp prepares code that runs once (init code), in an arena. */
cd__code *cd__code_temp(cd_arena *a, cd_bytes code);

/* cd__code_jumps makes the jump map if it is not there yet, and gives it. */
const u64 *cd__code_jumps(cd__code *code);

/* cd__code_can_jump tells whether pc holds a JUMPDEST that is not push data. */
CD_INLINE bool cd__code_can_jump(cd__code *code, u64 pc)
{
    const u64 *jumps = code->jumps;
    if (CD_UNLIKELY(jumps == NULL)) {
        jumps = cd__code_jumps(code);
    }
    return pc < code->n && (jumps[pc >> 6] >> (pc & 63) & 1) != 0;
}

#endif
