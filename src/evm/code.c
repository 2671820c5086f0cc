#include "evm/code.h"

#include "base/mem.h"
#include "evm/cells.h"
#include "evm/opcode.h"

enum { FIRST_SLOTS = 256 };

/* --- the cache ---------------------------------------------------------------------------------- */

void cd__code_cache_init(cd__code_cache *c, u64 key, usize limit)
{
    *c = (cd__code_cache){.slots = cd_new_array(cd__code *, FIRST_SLOTS),
                          .mask = FIRST_SLOTS - 1,
                          .limit = limit,
                          .key = key | 1};
}

void cd__code_cache_fini(cd__code_cache *c)
{
    for (cd__code *e = c->newest; e != NULL;) {
        cd__code *older = e->older;
        cd__cells_free(e->cells);
        cd_free(e);
        e = older;
    }
    cd_free(c->slots);
    *c = (cd__code_cache){0};
}

static usize slot_of(const cd__code_cache *c, const cd_hash32 *hash)
{
    u64 h = (cd_le64(hash->b) ^ cd_le64(hash->b + 8)) * c->key;
    return (usize)(h >> 32) & c->mask;
}

static void unlink_entry(cd__code_cache *c, cd__code *e)
{
    *(e->newer != NULL ? &e->newer->older : &c->newest) = e->older;
    *(e->older != NULL ? &e->older->newer : &c->oldest) = e->newer;
}

static void link_newest(cd__code_cache *c, cd__code *e)
{
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest != NULL ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
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
    unlink_entry(c, e);
    cd__cells_free(e->cells);
    cd_free(e);
}

static void evict(cd__code_cache *c)
{
    for (cd__code *e = c->oldest; e != NULL && c->bytes > c->limit;) {
        cd__code *newer = e->newer;
        if (e->pins == 0 && e != c->newest) {
            drop(c, e);
        }
        e = newer;
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
    for (cd__code *e = c->newest; e != NULL; e = e->older) {
        insert(c, e);
    }
}

static usize jump_words(usize n)
{
    return n / 64 + 1;
}

/* fill sets up a code object with its copy and the room for its map behind it. */
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
            if (e != c->newest) {
                unlink_entry(c, e);
                link_newest(c, e);
            }
            return e;
        }
    }
    if (2 * c->cnt > c->mask) {
        grow(c);
    }
    usize size = size_for(code.n);
    cd__code *e = cd_alloc(size);
    fill(e, code);
    e->cached = true;
    e->hash = *hash;
    e->size = size;
    insert(c, e);
    link_newest(c, e);
    c->cnt++;
    c->bytes += size;
    evict(c);
    return e;
}

void cd__code_grown(cd__code_cache *c, cd__code *code, i64 n)
{
    code->size += (usize)n;
    c->bytes += (usize)n;
    evict(c);
}

cd__code *cd__code_temp(cd_arena *a, cd_bytes code)
{
    cd__code *e = cd_arena_alloc(a, size_for(code.n));
    *e = (cd__code){.cached = false};
    fill(e, code);
    return e;
}

/* --- the jump map ------------------------------------------------------------------------------- */

const u64 *cd__code_jumps(cd__code *code)
{
    if (code->jumps != NULL) {
        return code->jumps;
    }
    u64 *map = code->jumps_room;
    memset(map, 0, 8 * jump_words(code->n));
    const u8 *p = code->bytes;
    for (usize i = 0; i < code->n; i++) {
        u8 op = p[i];
        if (op == CD_OP_JUMPDEST) {
            map[i >> 6] |= 1ULL << (i & 63);
        } else if ((u8)(op - CD_OP_PUSH1) < 32) {
            i += (usize)(op - CD_OP_PUSH1) + 1;
        }
    }
    code->jumps = map;
    return map;
}
