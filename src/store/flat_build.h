/* store/flat_build.h - the tries of flat tables that came without them, made in one walk, a bit at a time.
 *
 *   'a', 's' in order of hashes ──► sorted builders ──► 'n', 'N'      each account's storage root is that of its slots
 *
 * The tables must stay as they are meanwhile; memory does not grow with them. What an earlier, unfinished build of the
 * same tables has left does no harm. Threading: confined. [spec:architecture.md#6] */
#ifndef CD_STORE_FLAT_BUILD_H
#define CD_STORE_FLAT_BUILD_H

#include "store/flat.h"

typedef struct cd_flat_build cd_flat_build;

/* cd_flat_build_new begins to build over kv's tables, nodes by path. Errors: the store's. */
cd_err cd_flat_build_new(cd_flat_build **out, cd_kv *kv) CD_CHECK;
void cd_flat_build_free(cd_flat_build *b); /* NULL is allowed */

/* cd_flat_build_step writes about so many bytes of nodes; *more false: all stand, and *root is that of the state.
 * Errors: CD_ECORRUPT when a storage root is not that of the slots, or slots have no account; the store's. */
cd_err cd_flat_build_step(cd_flat_build *b, usize bytes, bool *more, cd_hash32 *root, cd_errinfo *why) CD_CHECK;

#endif
