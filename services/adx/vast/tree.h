/* services/adx/vast/tree.h - VAST documents of others: read, given our beacons, written again.
 *
 *   text ─► elements, attributes, character data, in an arena ─► track ─► text
 *
 * What is not ours stays as it was, order and text; comments and processing instructions are left out, so is
 * everything that a document type could declare: such a document is refused. Nothing outside is ever fetched. Our
 * elements stand where the schema of the document's version wants them. Wraps Expat; no other file knows it.
 * Threading: confined. [spec:adx#4.2] */
#ifndef CD_ADX_VAST_TREE_H
#define CD_ADX_VAST_TREE_H

#include "services/adx/vast/doc.h"

enum { CD_VAST_TREE_MAX = 1 << 20, CD_VAST_DEPTH_MAX = 64, CD_VAST_NODES_MAX = 20000 };

typedef struct cd_vast_tree cd_vast_tree;

/* cd_vast_tree_parse reads a document whose root is VAST into the arena. Errors: CD_EFORMAT (no XML, no VAST, a
 * document type), CD_EDEPTH, CD_ELIMIT. */
cd_err cd_vast_tree_parse(cd_vast_tree **out, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_vast_tree_version gives the version of the root; what it names that we do not know counts as the next lower. */
cd_vast_version cd_vast_tree_version(const cd_vast_tree *t);

/* cd_vast_tree_ads counts its ads. */
u32 cd_vast_tree_ads(const cd_vast_tree *t);

/* cd_vast_tree_track gives every ad our impression and error, every linear creative our events and clicks; of ad only
 * beacons and token are used. Gives the number of ads. */
u32 cd_vast_tree_track(cd_vast_tree *t, const cd_vast_ad *ad);

/* cd_vast_tree_next gives the address that the document's first ad wraps, blanks around it cut; false where it wraps
 * none. */
bool cd_vast_tree_next(cd_bytes *uri, const cd_vast_tree *t);

/* cd_vast_tree_merge gives the ads of inner what the first ad of the wrapper around it wants fetched: impressions,
 * errors, events and clicks of linear creatives. cd_vast_tree_errors gives the addresses that the first ad tells errors
 * to, and their number. */
void cd_vast_tree_merge(cd_vast_tree *inner, const cd_vast_tree *wrapper);
usize cd_vast_tree_errors(const cd_vast_tree *t, cd_bytes *out, usize max);

/* cd_vast_tree_put appends the whole document; cd_vast_tree_put_ads its ads alone, the first with the given place in a
 * pod, the others behind. */
void cd_vast_tree_put(cd_buf *out, const cd_vast_tree *t);
void cd_vast_tree_put_ads(cd_buf *out, const cd_vast_tree *t, u32 sequence);

#endif
