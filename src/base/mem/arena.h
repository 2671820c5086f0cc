/* base/mem/arena.h - bump memory for everything that lives as long as one request, block or message.
 *
 *   chunk ► chunk ► chunk        alloc bumps `used` in the newest chunk; a mark remembers the
 * place;
 *   [####][####][##......]       reset drops everything but keeps the chunks for the next round.
 *
 * Sizes of our own choosing abort when memory runs out (base/mem/mem.h). Threading: confined. */
#ifndef CD_BASE_ARENA_H
#define CD_BASE_ARENA_H

#include "base/bytes.h"

typedef struct cd_arena_chunk cd_arena_chunk;

/* All zero is a valid, empty arena. */
typedef struct cd_arena {
    cd_arena_chunk *first;
    cd_arena_chunk *cur;
    usize used; /* bytes used of the chunk cur */
} cd_arena;

/* A place in an arena to go back to. */
typedef struct cd_arena_mark {
    cd_arena_chunk *cur;
    usize used;
} cd_arena_mark;

/* cd_arena_fini gives all memory back; the arena is empty and usable again. */
void cd_arena_fini(cd_arena *a);

/* cd_arena_alloc gives n uninitialised bytes, aligned to 16. Never NULL. */
void *cd_arena_alloc(cd_arena *a, usize n) __attribute__((returns_nonnull));

/* cd_arena_zalloc gives n zeroed bytes, aligned to 16. */
void *cd_arena_zalloc(cd_arena *a, usize n) __attribute__((returns_nonnull));

/* cd_arena_new / cd_arena_array give zeroed objects; an overflowing size aborts. */
#define cd_arena_new(a, type)        ((type *)cd_arena_zalloc((a), sizeof(type)))
#define cd_arena_array(a, type, cnt) ((type *)cd_arena_zalloc_array((a), (cnt), sizeof(type)))
void *cd_arena_zalloc_array(cd_arena *a, usize cnt, usize size) __attribute__((returns_nonnull));

/* cd_arena_dup copies b into the arena and borrows the copy. */
cd_bytes cd_arena_dup(cd_arena *a, cd_bytes b);

/* cd_arena_str copies b and appends a NUL. */
char *cd_arena_str(cd_arena *a, cd_bytes b);

/* cd_arena_fmt formats into the arena. */
char *cd_arena_fmt(cd_arena *a, const char *fmt, ...) CD_PRINTF(2, 3);

/* cd_arena_mark_get / cd_arena_rewind drop everything allocated after the mark; chunks are kept. */
cd_arena_mark cd_arena_mark_get(const cd_arena *a);
void cd_arena_rewind(cd_arena *a, cd_arena_mark m);

/* cd_arena_reset drops everything; chunks are kept. */
void cd_arena_reset(cd_arena *a);

#endif
