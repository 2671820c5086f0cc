/* node/peers/stakers.h - who validates the primary network, the nets that a node tracks and those that its peers do, as
 * the P-Chain said last. Addresses of validators of other nets are handed on to their like, who know nobody else.
 *
 *   P-Chain goes on ─► look ─► a set for each net ─► find, weight, each
 *   a peer tracks a net ─► want ─► one more set, when somebody validates it
 *
 * A net that cannot be read keeps the set that it had. Threading: confined to the loop's thread. [spec:p2p#6] */
#ifndef CD_NODE_STAKERS_H
#define CD_NODE_STAKERS_H

#include "base/log/log.h"
#include "vm/validators.h"

typedef struct cd_stakers cd_stakers;

/* The most nets that only peers track. */
enum { CD_STAKERS_OTHERS_MAX = 1024 };

/* A validator of a net. */
typedef struct cd_staker {
    u64 weight;
    u8 key[96]; /* BLS public key, uncompressed */
    bool has_key;
} cd_staker;

/* cd_stakers_new copies the nets that are tracked besides the primary network, of which it knows nothing yet.
 * cd_stakers_free: NULL is allowed. */
cd_stakers *cd_stakers_new(const cd_hash32 *nets, usize cnt);
void cd_stakers_free(cd_stakers *s);

/* cd_stakers_look reads the sets anew when the P-Chain is at another height than the last time. who NULL: nobody says
 * anything now, and those hold that were read last. */
void cd_stakers_look(cd_stakers *s, const cd_vm_validators *who, cd_logger *log);

/* cd_stakers_want adds a net that a peer tracks; one that nobody validates is not kept, so that only the P-Chain makes
 * sets. Gives whether the P-Chain was asked. */
bool cd_stakers_want(cd_stakers *s, const cd_vm_validators *who, const cd_hash32 *net);

/* cd_stakers_find gives a validator of a net (zero: the primary network), valid until the next look; NULL: it is none,
 * or the net is not known. cd_stakers_weight sums all of a net, cd_stakers_cnt counts them. */
const cd_staker *cd_stakers_find(const cd_stakers *s, const cd_hash32 *net, const cd_node_id *node);
u64 cd_stakers_weight(const cd_stakers *s, const cd_hash32 *net);
usize cd_stakers_cnt(const cd_stakers *s, const cd_hash32 *net);

/* cd_stakers_each calls fn for all of a net, in any order. */
void cd_stakers_each(const cd_stakers *s, const cd_hash32 *net,
                     void (*fn)(void *ctx, const cd_node_id *node, const cd_staker *v), void *ctx);

#endif
