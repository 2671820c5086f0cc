/* chains/platform/state/records_priv.h - the keys of the state's records, and how numbers are kept in them.
 *
 *   kind   key behind it                            value
 *   'S'    number                                   be64
 *   'L'                                             ID of the last accepted block
 *   'P'    net                                      be64, supply
 *   't'    transaction                              status ‖ signed bytes
 *   'b'    block                                    bytes
 *   'h'    be64 height                              ID of the block
 *   'R'    transaction ‖ be32 output                UTXO
 *   's'    set ‖ place                              staker       place: be64 time ‖ priority ‖ transaction
 *   'n'    set ‖ net ‖ place                        staker
 *   'v'    set ‖ net ‖ node                         staker (validators)
 *   'd'    set ‖ net ‖ node ‖ place                 staker (delegators)
 *   'g'    set ‖ net ‖ node                         be64 delegators ‖ be64 weight
 *   'r'    net ‖ node                               be64, delegatee reward
 *   'W'    net ‖ node                               be64 weight ‖ key or nothing       (sets_priv.h, this and the next)
 *   'D'    net ‖ be64 height ‖ node                 'W' before that height, or nothing
 *   'Z'    net ‖ be64 height                        all 'W' of the net after that height
 *   'Y'    net                                      be64 changes since 'Z' ‖ be64 height of the last ‖ be64 validators
 *   'N'    net                                      owners
 *   'O'    be64 number                              net, in the order they came
 *   'V'    net                                      conversion ID ‖ chain ‖ address
 *   'B'    chain                                    net ‖ VM ‖ name
 *   'K'    net ‖ be64 number                        chain, in the order they came
 *   'l'    validation                               validator of an L1
 *   'a'    be64 end fee ‖ validation                nothing
 *   'm'    net ‖ validation                         nothing
 *   'k'    net ‖ node                               validation
 *   'w'    net                                      be64, weight of an L1
 *   'e'    be64 time ‖ validation                   nothing
 *   'q'    address ‖ be64 2^64-1 - height ‖ tx       nothing                            (not of the chain)
 *   'i'    node                                     be64 up ‖ be64 updated             (uptime.h; not of the chain)
 *
 * 'u' and 'o' belong to chains/utxo. */
#ifndef CD_PLATFORM_RECORDS_PRIV_H
#define CD_PLATFORM_RECORDS_PRIV_H

#include "base/mem/buf.h"
#include "base/rd.h"
#include "codec/ids.h"
#include "store/kv.h"

/* A key under construction; the longest is 'd'. */
typedef struct cd__key {
    u8 b[1 + 1 + 32 + 20 + 8 + 1 + 32];
    usize n;
} cd__key;

CD_INLINE cd__key cd__key_of(char kind)
{
    cd__key k = {.n = 1};
    k.b[0] = (u8)kind;
    return k;
}

CD_INLINE void cd__key_u8(cd__key *k, u8 v)
{
    CD_ASSERT(k->n < sizeof k->b);
    k->b[k->n++] = v;
}

CD_INLINE void cd__key_put(cd__key *k, const void *p, usize n)
{
    CD_ASSERT(k->n + n <= sizeof k->b);
    memcpy(&k->b[k->n], p, n);
    k->n += n;
}

CD_INLINE void cd__key_be64(cd__key *k, u64 v)
{
    u8 b[8];
    cd_put_be64(b, v);
    cd__key_put(k, b, sizeof b);
}

CD_INLINE cd_bytes cd__key_bytes(const cd__key *k)
{
    return cd_bytes_of(k->b, k->n);
}

/* cd__key_id, cd__key_net_node: the usual keys. */
CD_INLINE cd__key cd__key_id(char kind, const cd_hash32 *id)
{
    cd__key k = cd__key_of(kind);
    cd__key_put(&k, id->b, 32);
    return k;
}

CD_INLINE cd__key cd__key_net_node(char kind, const cd_hash32 *net, const cd_node_id *node)
{
    cd__key k = cd__key_id(kind, net);
    cd__key_put(&k, node->b, 20);
    return k;
}

/* cd__num_get reads a be64 record; absent, unless is_needed: 0. Errors: CD_ENOENT, CD_ECORRUPT, the kv's. */
cd_err cd__num_get(cd_kv *kv, u64 *out, const cd__key *k, bool is_needed) CD_CHECK;
/* cd__num_put writes one; cd__num_or_del deletes the record instead when v is 0. */
cd_err cd__num_put(cd_kv *kv, const cd__key *k, u64 v) CD_CHECK;
cd_err cd__num_or_del(cd_kv *kv, const cd__key *k, u64 v) CD_CHECK;

/* cd__next_number counts on: 0, 1, 2, … for all lists that are kept in the order they came. */
cd_err cd__next_number(cd_kv *kv, u64 *out) CD_CHECK;

#endif
