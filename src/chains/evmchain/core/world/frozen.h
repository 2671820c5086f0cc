/* chains/evmchain/core/world/frozen.h - the state behind a block that is not accepted, for any thread: a copy of what
 * it changed, over a reader of the state that it stands on.
 *
 * The world may go on, and the block be dropped, as soon as the copy is made. Threading: made by the executor, then
 * confined to its user. */
#ifndef CD_CHAINS_EVMCHAIN_WORLD_FROZEN_H
#define CD_CHAINS_EVMCHAIN_WORLD_FROZEN_H

#include "chains/evmchain/core/world/world.h"

typedef struct cd_world_frozen cd_world_frozen;

/* cd_world_freeze copies what view, whose parent is accepted, changed. base reads the accepted state; it is asked for
 * what was not changed and stays until the copy ends. Errors: the store's. */
cd_err cd_world_freeze(cd_world_frozen **out, cd_world *w, const cd_world_view *view, cd_state_source *base) CD_CHECK;
void cd_world_frozen_free(cd_world_frozen *f); /* NULL is allowed */

/* cd_world_frozen_source reads the state behind the block. */
cd_state_source *cd_world_frozen_source(cd_world_frozen *f);

#endif
