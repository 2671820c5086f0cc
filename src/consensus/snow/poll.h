/* consensus/snow/poll.h - questions under way: who was asked, what was answered, and when enough is known.
 *
 *   add(request, nodes) ──► vote, vote, drop, vote ──► is over early? ──► cd_snow_polls_next, in the order of asking
 *
 * A poll is over when no answer is awaited, or when none that is awaited can change the result: for each block with
 * votes, for its ancestors, and for every prefix that the IDs of siblings share. The caller tells parents of blocks.
 * Polls that have ended are used again: an answer takes no memory.
 * Threading: confined. [spec:consensus#4] */
#ifndef CD_CONSENSUS_POLL_H
#define CD_CONSENSUS_POLL_H

#include "codec/ids.h"
#include "consensus/snow/flake.h"

/* Gives the parent of an undecided block; false: the ID is not that of an undecided block. */
typedef bool cd_snow_parent_fn(void *ctx, cd_hash32 *parent, const cd_hash32 *id);

typedef struct cd_snow_polls cd_snow_polls;

/* cd_snow_polls_new makes an empty set; params have passed cd_snow_params_check. */
cd_snow_polls *cd_snow_polls_new(const cd_snow_params *params, cd_snow_parent_fn *parent, void *ctx)
    __attribute__((returns_nonnull));
void cd_snow_polls_free(cd_snow_polls *s); /* NULL is allowed */

/* cd_snow_polls_add begins a poll of cnt nodes; one that is named twice counts twice. request is larger than any
 * before. */
void cd_snow_polls_add(cd_snow_polls *s, u32 request, const cd_node_id *nodes, u32 cnt);

/* cd_snow_polls_vote counts the answer of a node, as often as the node was named; cd_snow_polls_drop says that no
 * answer comes from it. False: the node was not asked, or has answered already; nothing happens. */
bool cd_snow_polls_vote(cd_snow_polls *s, u32 request, const cd_node_id *node, const cd_hash32 *id);
bool cd_snow_polls_drop(cd_snow_polls *s, u32 request, const cd_node_id *node);

/* cd_snow_polls_is_asked tells whether an answer of a node is outstanding. */
bool cd_snow_polls_is_asked(const cd_snow_polls *s, u32 request, const cd_node_id *node);

/* cd_snow_polls_next ends the oldest poll if it is over, and gives its votes (borrowed until the next call); false: it
 * is not over, or there is none. */
bool cd_snow_polls_next(cd_snow_polls *s, const cd_snow_vote **votes, u32 *cnt);

/* cd_snow_polls_cnt counts the polls under way, those that wait for an older one included. */
u32 cd_snow_polls_cnt(const cd_snow_polls *s);

#endif
