/* finality/keys.h - the files of a dealt threshold key: the group's, for everybody, and one for each party.
 *
 *   group  "CDFG" u16 0 │ u32 t │ u32 n │ n node IDs │ public key
 *   share  "CDFS" u16 0 │ group's ID │ node ID │ share
 *
 * The group's ID is the SHA-256 of the public key's encodings. A share is of one node in one group, and is refused
 * elsewhere. Threading: pure. [spec:finality#7] */
#ifndef CD_FINALITY_KEYS_H
#define CD_FINALITY_KEYS_H

#include "base/mem/secret.h"
#include "codec/ids.h"
#include "crypto/lattice/ringtail.h"

/* The most bytes of either file. */
enum { CD_FIN_GROUP_FILE_MAX = 200000, CD_FIN_SHARE_FILE_MAX = 64000 };

/* A group as its file says it. */
typedef struct cd_fin_group {
    cd_rt_key key;
    cd_hash32 id;
    u32 threshold;
    u32 cnt;
    cd_node_id nodes[CD_RT_PARTIES_MAX]; /* rising */
} cd_fin_group;

/* cd_fin_group_put appends the file of a group; id is not read. cd_fin_group_read reads it. Errors: CD_EFORMAT,
 * CD_ESHORT: malformed, nodes out of order, or a threshold that is not that of so many nodes. */
void cd_fin_group_put(cd_buf *out, const cd_fin_group *group);
cd_err cd_fin_group_read(cd_fin_group *out, cd_bytes bytes) CD_CHECK;

/* cd_fin_share_put appends the file of a party's share; the caller wipes it. cd_fin_share_read makes *out of it, a
 * secret not yet initialised that holds one cd_rt_share. Errors: CD_EFORMAT, CD_ESHORT, CD_EKEY: of another group or
 * node; then no secret is made. */
void cd_fin_share_put(cd_buf *out, const cd_fin_group *group, const cd_rt_share *share);
cd_err cd_fin_share_read(cd_secret *out, cd_bytes bytes, const cd_fin_group *group, const cd_node_id *node) CD_CHECK;

/* cd_fin_deal deals a key for the group's nodes, which the caller has set (cnt, nodes); 3 <= cnt. dealer_key and secret
 * as for cd_rt_deal; shares as there. Errors: CD_EINVAL: too few or too many nodes, or out of order. */
cd_err cd_fin_deal(cd_fin_group *group, cd_secret *shares, const u8 dealer_key[32], const u8 secret[32]) CD_CHECK;

#endif
