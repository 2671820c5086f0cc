/* evm/interp/code.h - byte code prepared for running: a padded copy, its jump map, and the cells of hot
 * code.
 *
 *   code hash ──► cd__code { bytes + zero padding, jump map (made at the first jump), cells (tier 1) }
 *                    ▲
 *   cd__code_cache ──┘  open-addressed by code hash; code and cells are bounded by bytes, each for itself,
 *                       and of each what was used longest ago goes first
 *
 * Cells are many times as large as the code and cost much to make. So they are earned by gas that was executed in the
 * code itself, in proportion to its size, and earned anew once they have gone: whoever makes us translate has paid
 * for it, and code that takes turns in the cache costs no more than if there were no cells.
 *
 * The padding lets an interpreter read push data and run over the end without checks: it meets a
 * STOP. A frame pins the code it runs. Init code gets a cd__code too, in an arena and without an
 * entry here. Threading: confined (a cache belongs to one cd_evm). [spec:evm-performance#1] */
#ifndef CD_EVM_CODE_H
#define CD_EVM_CODE_H

#include "base/mem/arena.h"
#include "base/table/list.h"
#include "evm/rules/rules.h"

struct cd__cells;

/* Zero bytes behind the code: the longest push data and a STOP after it. */
enum { CD__CODE_PAD = 40 };

/* Room for all cached code with its maps, and for all cells. */
enum { CD__CODE_CACHE_BYTES = 64 << 20, CD__CELLS_CACHE_BYTES = 32 << 20 };

/* A piece of byte code with what was worked out for it. */
typedef struct cd__code {
    const u8 *bytes; /* n bytes of code and CD__CODE_PAD zeros */
    usize n;
    const u64 *jumps; /* bit i: a jump to i is valid; n + 1 bits. NULL until cd__code_jumps */
    u64 *jumps_room;
    struct cd__cells *cells; /* NULL until the code is hot */
    u64 gas_run;             /* gas executed in this code itself, outside of cells, since they were made or lost */
    u32 pins;                /* number of frames that run it */
    bool cached;             /* in a cache; else in an arena */
    cd_hash32 hash;
    usize size;       /* bytes charged to the cache, without the cells */
    usize cells_size; /* bytes of its cells, charged to the cache */
    cd_list by_use;   /* in cd__code_cache.by_use */
    cd_list by_cells; /* in cd__code_cache.by_cells while it has cells */
    u64 used;         /* cd__code_cache.now when it was last asked for */
} cd__code;

/* Codes by hash, within limits of bytes. */
typedef struct cd__code_cache {
    cd__code **slots; /* open addressing, linear probing */
    usize mask;
    usize cnt;
    usize bytes; /* bytes of all entries, without cells */
    usize limit;
    usize cells_bytes;
    usize cells_limit;
    u64 now;          /* number of calls of cd__code_cache_turn */
    u64 key;          /* odd; hides which hashes collide from whoever chooses the code */
    cd_list by_use;   /* all entries, the one used longest ago first */
    cd_list by_cells; /* entries with cells, in the same order */
} cd__code_cache;

/* cd__code_cache_init makes an empty cache, which must not move in memory until cd__code_cache_fini. */
void cd__code_cache_init(cd__code_cache *c, u64 key, usize limit, usize cells_limit);
void cd__code_cache_fini(cd__code_cache *c);

/* cd__code_get gives the entry of code with this hash, making it if needed. Borrowed until cd__code_cache_turn. Entries
 * that the current message has not used may be dropped. */
cd__code *cd__code_get(cd__code_cache *c, const cd_hash32 *hash, cd_bytes code);

/* cd__code_cache_turn is called when an outermost message has ended: from now on the entries it used may be dropped.
 * Until then they stay, even beyond the limit: the first use of a contract has paid for its place, while to make an
 * entry again for a second use would cost us far more than that use pays. No entry may be pinned. */
void cd__code_cache_turn(cd__code_cache *c);

/* cd__code_keep_cells gives cells to code in place of those it had; code is the entry that cd__code_get gave last, or a
 * pinned one. size is the bytes of the cells. Other entries may lose their cells. */
void cd__code_keep_cells(cd__code_cache *c, cd__code *code, struct cd__cells *cells, usize size);

/* cd__code_temp prepares code that runs once (init code), in an arena. */
cd__code *cd__code_temp(cd_arena *a, cd_bytes code);

/* cd__code_jumps gives the jump map and makes it at the first call. */
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
