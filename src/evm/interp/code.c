#include "evm/interp/code.h"

#include "base/mem/mem.h"
#include "evm/interp/cells.h"
#include "evm/interp/opcode.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { FIRST_SLOTS = 256 };

/* --- the cache --- */

void cd__code_cache_init(cd__code_cache *c, u64 key, usize limit, usize cells_limit)
{
    *c = (cd__code_cache){.slots = cd_new_array(cd__code *, FIRST_SLOTS),
                          .mask = FIRST_SLOTS - 1,
                          .limit = limit,
                          .cells_limit = cells_limit,
                          .key = key | 1};
    cd_list_init(&c->by_use);
    cd_list_init(&c->by_cells);
}

void cd__code_cache_fini(cd__code_cache *c)
{
    cd_list_each_safe(it, &c->by_use)
    {
        cd__code *e = cd_list_of(it, cd__code, by_use);
        cd__cells_free(e->cells);
        cd_free(e);
    }
    cd_free(c->slots);
    *c = (cd__code_cache){0};
}

static usize slot_of(const cd__code_cache *c, const cd_hash32 *hash)
{
    u64 h = (cd_le64(hash->b) ^ cd_le64(hash->b + 8)) * c->key;
    return (usize)(h >> 32) & c->mask;
}

/* to_end moves an entry to the end of its list, where the one used last stands. */
static void to_end(cd_list *list, cd_list *entry)
{
    cd_list_del(entry);
    cd_list_push_back(list, entry);
}

/* drop_cells frees the cells of e, if it has any, and forgets the gas it has earned. */
static void drop_cells(cd__code_cache *c, cd__code *e)
{
    cd__cells_free(e->cells);
    cd_list_del(&e->by_cells);
    c->cells_bytes -= e->cells_size;
    e->cells = NULL;
    e->cells_size = 0;
    e->gas_run = 0;
}

/* drop takes e out of the table, moving later entries of its probe chain up, and frees it. */
static void drop(cd__code_cache *c, cd__code *e)
{
    usize hole = slot_of(c, &e->hash);
    while (c->slots[hole] != e) {
        hole = (hole + 1) & c->mask;
    }
    for (usize i = (hole + 1) & c->mask; c->slots[i] != NULL; i = (i + 1) & c->mask) {
        usize home = slot_of(c, &c->slots[i]->hash);
        if (((i - home) & c->mask) >= ((i - hole) & c->mask)) {
            c->slots[hole] = c->slots[i];
            hole = i;
        }
    }
    c->slots[hole] = NULL;
    c->cnt--;
    c->bytes -= e->size;
    drop_cells(c, e);
    cd_list_del(&e->by_use);
    cd_free(e);
}

static void evict(cd__code_cache *c)
{
    while (c->bytes > c->limit && !cd_list_is_empty(&c->by_use)) {
        cd__code *e = cd_list_of(c->by_use.next, cd__code, by_use);
        if (e->used == c->now) {
            return; /* the current message uses this entry and all behind it */
        }
        CD_ASSERT(e->pins == 0);
        drop(c, e);
    }
}

void cd__code_cache_turn(cd__code_cache *c)
{
    c->now++;
    evict(c);
}

/* evict_cells drops cells, those used longest ago first, until the rest is within the limit. A pinned entry is in use:
 * it goes to the end of the list, so that it is passed over once and not each time. */
static void evict_cells(cd__code_cache *c, const cd__code *keep)
{
    for (usize left = c->cnt; left != 0 && c->cells_bytes > c->cells_limit && !cd_list_is_empty(&c->by_cells); left--) {
        cd__code *e = cd_list_of(c->by_cells.next, cd__code, by_cells);
        if (e->pins == 0 && e != keep) {
            drop_cells(c, e);
        } else {
            to_end(&c->by_cells, &e->by_cells);
        }
    }
}

static void insert(cd__code_cache *c, cd__code *e)
{
    usize i = slot_of(c, &e->hash);
    while (c->slots[i] != NULL) {
        i = (i + 1) & c->mask;
    }
    c->slots[i] = e;
}

static void grow(cd__code_cache *c)
{
    cd_free(c->slots);
    c->mask = 2 * c->mask + 1;
    c->slots = cd_new_array(cd__code *, c->mask + 1);
    cd_list_each(it, &c->by_use)
    {
        insert(c, cd_list_of(it, cd__code, by_use));
    }
}

static usize jump_words(usize n)
{
    return n / 64 + 1;
}

/* fill sets up a code object, which has its jump map and its copy of the code behind it. */
static void fill(cd__code *e, cd_bytes code)
{
    u64 *jumps = (u64 *)(void *)(e + 1);
    u8 *bytes = (u8 *)(jumps + jump_words(code.n));
    if (code.n != 0) {
        memcpy(bytes, code.p, code.n);
    }
    memset(bytes + code.n, 0, CD__CODE_PAD);
    e->bytes = bytes;
    e->n = code.n;
    e->jumps_room = jumps;
}

static usize size_for(usize n)
{
    return sizeof(cd__code) + 8 * jump_words(n) + n + CD__CODE_PAD;
}

cd__code *cd__code_get(cd__code_cache *c, const cd_hash32 *hash, cd_bytes code)
{
    for (usize i = slot_of(c, hash);; i = (i + 1) & c->mask) {
        cd__code *e = c->slots[i];
        if (e == NULL) {
            break;
        }
        if (cd_hash32_eq(&e->hash, hash)) {
            e->used = c->now;
            to_end(&c->by_use, &e->by_use);
            if (e->cells != NULL) {
                to_end(&c->by_cells, &e->by_cells);
            }
            return e;
        }
    }
    if (2 * c->cnt > c->mask) {
        grow(c);
    }
    usize size = size_for(code.n);
    cd__code *e = cd_realloc(NULL, size); /* not zeroed: fill writes all but the map, which is written when made */
    *e = (cd__code){.used = c->now};
    fill(e, code);
    e->cached = true;
    e->hash = *hash;
    e->size = size;
    insert(c, e);
    cd_list_init(&e->by_cells);
    cd_list_push_back(&c->by_use, &e->by_use);
    c->cnt++;
    c->bytes += size;
    evict(c);
    return e;
}

void cd__code_keep_cells(cd__code_cache *c, cd__code *code, cd__cells *cells, usize size)
{
    drop_cells(c, code);
    code->cells = cells;
    code->cells_size = size;
    c->cells_bytes += size;
    cd_list_push_back(&c->by_cells, &code->by_cells);
    evict_cells(c, code);
}

cd__code *cd__code_temp(cd_arena *a, cd_bytes code)
{
    cd__code *e = cd_arena_alloc(a, size_for(code.n));
    *e = (cd__code){.cached = false};
    fill(e, code);
    return e;
}

/* --- the jump map --- */

/* bytes_in gives 64 bits: bit i is set when byte i of p lies in [first, first + cnt). */
CD_INLINE u64 bytes_in(const u8 *p, u8 first, u8 cnt)
{
    u64 out = 0;
#ifdef __AVX2__
    for (u32 half = 0; half < 2; half++) {
        __m256i x = _mm256_loadu_si256((const __m256i_u *)(const void *)(p + 32 * (usize)half));
        __m256i d = _mm256_sub_epi8(x, _mm256_set1_epi8((char)first));
        __m256i is_in = _mm256_cmpeq_epi8(_mm256_min_epu8(d, _mm256_set1_epi8((char)(cnt - 1))), d);
        out |= (u64)(u32)_mm256_movemask_epi8(is_in) << (32 * half);
    }
#else
    for (u32 i = 0; i < 64; i++) {
        out |= (u64)((u8)(p[i] - first) < cnt) << i;
    }
#endif
    return out;
}

/* jumps_of gives the JUMPDESTs among 64 bytes of code, of which the first *skip are push data, and sets *skip for the
 * next 64 bytes. The loops turn once for each PUSH, not for other instructions. */
static u64 jumps_of(const u8 *p, usize *skip)
{
    u64 live = *skip < 64 ? ~0ULL << *skip : 0;
    u64 pushes = bytes_in(p, CD_OP_PUSH1, 32) & live;
    u64 jumps = bytes_in(p, CD_OP_JUMPDEST, 1);
    *skip = *skip < 64 ? 0 : *skip - 64;
    while (pushes != 0) {
        usize next = (usize)__builtin_ctzll(pushes);
        do {
            usize at = next;
            next += 2;
            if (p[at] != CD_OP_PUSH1) {
                next += (usize)(p[at] - CD_OP_PUSH1);
                __asm__ volatile(""); /* keeps this a branch: a right prediction need not wait for p[at] */
            }
            live &= (next < 64 ? ~0ULL << next : 0) | ((2ULL << at) - 1);
        } while (next < 64 && (pushes >> next & 1) != 0);
        pushes &= next < 64 ? ~0ULL << next : 0;
        *skip = next < 64 ? 0 : next - 64;
    }
    return jumps & live;
}

const u64 *cd__code_jumps(cd__code *code)
{
    if (code->jumps != NULL) {
        return code->jumps;
    }
    u64 *map = code->jumps_room;
    u8 piece[64] = {0};
    usize skip = 0; /* bytes of push data that reach into the next piece */
    for (usize at = 0; at < code->n; at += 64) {
        const u8 *p = code->bytes + at;
        if (code->n - at < 64) {
            memcpy(piece, p, code->n - at);
            p = piece;
        }
        map[at >> 6] = jumps_of(p, &skip);
    }
    if (code->n % 64 == 0) {
        map[code->n >> 6] = 0;
    }
    code->jumps = map;
    return map;
}
