/* node/chain/names.h - the names of a node's chains: aliases, to the ID that each stands for.
 *
 * Names are given when a chain is opened, or by an operator; they are gone with the chain. At most CD_NODE_NAMES_MAX.
 * Threading: shared. [spec:node-api#1.3] [spec:node-api#8] */
#ifndef CD_NODE_NAMES_H
#define CD_NODE_NAMES_H

#include "base/mem/arena.h"
#include "codec/ids.h"
#include "codec/json.h"

enum { CD_NODE_NAMES_MAX = 4096, CD_NODE_NAME_LEN_MAX = 512 };

typedef struct cd_node_names cd_node_names;

/* cd_node_names_new knows none; cd_node_names_free: NULL is allowed. */
cd_node_names *cd_node_names_new(void);
void cd_node_names_free(cd_node_names *n);

/* cd_node_names_add gives a chain one more name. Errors: CD_EEXIST when it stands for a chain already, CD_ELIMIT. */
cd_err cd_node_names_add(cd_node_names *n, cd_bytes name, const cd_hash32 *chain) CD_CHECK;

/* cd_node_names_forget takes all names of a chain away. */
void cd_node_names_forget(cd_node_names *n, const cd_hash32 *chain);

/* cd_node_names_find finds who has a name. Errors: CD_ENOENT. */
cd_err cd_node_names_find(cd_node_names *n, cd_hash32 *chain, cd_bytes name) CD_CHECK;

/* cd_node_names_list gives them in a, in the order in which they were given. */
void cd_node_names_list(cd_node_names *n, cd_bytes **out, usize *cnt, cd_arena *a, const cd_hash32 *chain);

/* cd_node_names_put writes the names of a chain, elements of a list, in the order in which they were given. */
void cd_node_names_put(cd_node_names *n, cd_json_w *w, const cd_hash32 *chain);

#endif
