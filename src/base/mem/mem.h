/* base/mem/mem.h - the heap, for objects with an open-ended life.
 *
 * Sizes of our own choosing abort when memory runs out (there is no useful way on); sizes that come
 * from outside are first bounded by a named limit and then taken with the cd_try_ forms.
 * Threading: shared. */
#ifndef CD_BASE_MEM_H
#define CD_BASE_MEM_H

#include "base/base.h"

/* cd_alloc gives n zeroed bytes (never NULL; n == 0 gives one byte); cd_free releases them (NULL is
 * allowed). */
void *cd_alloc(usize n) __attribute__((malloc, returns_nonnull));
void cd_free(void *p);

/* cd_new gives one zeroed object, cd_new_array cnt of them (aborts when the size overflows). */
#define cd_new(type)            ((type *)cd_alloc(sizeof(type)))
#define cd_new_array(type, cnt) ((type *)cd_alloc_array((cnt), sizeof(type)))
void *cd_alloc_array(usize cnt, usize size) __attribute__((malloc, returns_nonnull));

/* cd_realloc grows or shrinks; new bytes are not zeroed. */
void *cd_realloc(void *p, usize n) __attribute__((returns_nonnull));

/* cd_try_alloc gives n uninitialised bytes or NULL: for sizes that come from outside. */
void *cd_try_alloc(usize n) CD_CHECK;

/* cd_mem_tune is called by a server before it starts threads: the allocator then keeps few separate heaps, and takes
 * large pieces straight from the system. cd_mem_trim gives free memory back to it, which takes milliseconds. */
void cd_mem_tune(void);
void cd_mem_trim(void);

/* cd_alloc_aligned gives n zeroed bytes at a multiple of align (a power of two); release with
 * cd_free. */
void *cd_alloc_aligned(usize align, usize n) __attribute__((returns_nonnull));

#endif
