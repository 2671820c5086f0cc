/* store/trie_build_priv.h - what range verification needs of the sorted builder beyond its public face.
 *
 * Threading: confined. */
#ifndef CD_STORE_TRIE_BUILD_PRIV_H
#define CD_STORE_TRIE_BUILD_PRIV_H

#include "store/trie_priv.h"

/* cd__build_subtree appends a whole subtree that is known only by its reference: it must end up
 * exactly at the given position (nibbles of the packed path), else the build ends in CD_EPROOF.
 * Errors: CD_EINVAL when the path does not come after what was added. */
cd_err cd__build_subtree(cd_trie_build *b, const u8 *path, usize nibbles, const cd__raw_ref *ref) CD_CHECK;

/* cd__build_end is cd_trie_build_root with that error. */
cd_err cd__build_end(cd_trie_build *b, cd_hash32 *out) CD_CHECK;

#endif
