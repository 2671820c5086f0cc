/* Certificates and signatures that anybody could forge, for tests: a certificate is a number, a signature is the hash
 * of the number and the message. And a set of validators that a test makes up. */
#ifndef CD_CONSENSUS_TEST_TOY_STAKING_H
#define CD_CONSENSUS_TEST_TOY_STAKING_H

#include "consensus/proposer/staking.h"
#include "crypto/hash/sha2.h"
#include "vm/validators.h"

enum { TOY_CERT_LEN = 8, TOY_VALIDATORS_MAX = 32 };

typedef struct toy_staking {
    cd_staking staking; /* first */
    u8 cert[TOY_CERT_LEN];
} toy_staking;

CD_INLINE cd_node_id toy_node_id(cd_bytes cert)
{
    cd_hash32 h;
    cd_node_id id;
    cd_sha256(&h, cert);
    memcpy(id.b, h.b, sizeof id.b);
    return id;
}

CD_INLINE cd_err toy_node_of(const cd_staking *s, cd_node_id *out, cd_bytes cert, cd_errinfo *why)
{
    (void)s;
    if (cert.n != TOY_CERT_LEN) {
        return cd_fail(why, CD_EFORMAT, "a certificate has %d bytes", TOY_CERT_LEN);
    }
    *out = toy_node_id(cert);
    return CD_OK;
}

CD_INLINE cd_hash32 toy_signature(cd_bytes cert, cd_bytes msg)
{
    cd_hash32 h;
    cd_sha256_ctx c;
    cd_sha256_init(&c);
    cd_sha256_update(&c, cert);
    cd_sha256_update(&c, msg);
    cd_sha256_final(&c, &h);
    return h;
}

CD_INLINE cd_err toy_check_sig(const cd_staking *s, cd_bytes cert, cd_bytes msg, cd_bytes sig, cd_errinfo *why)
{
    (void)s;
    cd_hash32 want = toy_signature(cert, msg);
    return cd_bytes_eq(sig, cd_bytes_of(want.b, 32)) ? CD_OK : cd_fail(why, CD_ESIG, "verification error");
}

CD_INLINE cd_err toy_sign(const cd_staking *s, cd_buf *sig, cd_bytes msg, cd_errinfo *why)
{
    (void)why;
    cd_hash32 h = toy_signature(s->cert, msg);
    cd_buf_put(sig, cd_bytes_of(h.b, 32));
    return CD_OK;
}

CD_INLINE void toy_staking_init(toy_staking *t, u64 number)
{
    *t = (toy_staking){.staking = {.node_of = toy_node_of, .check = toy_check_sig, .sign = toy_sign}};
    cd_put_be64(t->cert, number);
    t->staking.cert = cd_bytes_of(t->cert, sizeof t->cert);
}

/* The same validators at every height up to the current one. */
typedef struct toy_validators {
    cd_vm_validators ops; /* first */
    cd_vm_validator v[TOY_VALIDATORS_MAX];
    u32 cnt;
    u64 current;
    u64 minimum;
} toy_validators;

CD_INLINE cd_err toy_current(const cd_vm_validators *v, u64 *height)
{
    *height = ((const toy_validators *)(const void *)v)->current;
    return CD_OK;
}

CD_INLINE cd_err toy_minimum(const cd_vm_validators *v, u64 *height)
{
    *height = ((const toy_validators *)(const void *)v)->minimum;
    return CD_OK;
}

CD_INLINE cd_err toy_validators_at(const cd_vm_validators *ops, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                                   const cd_hash32 *subnet, u64 height)
{
    const toy_validators *all = (const toy_validators *)(const void *)ops;
    (void)a;
    (void)subnet;
    if (height > all->current) {
        return CD_ERANGE;
    }
    *out = all->v;
    *cnt = all->cnt;
    return CD_OK;
}

/* Makes cnt validators. Node i has the certificate of number i; they are put in order of their IDs. */
CD_INLINE void toy_validators_init(toy_validators *all, u32 cnt)
{
    *all = (toy_validators){
        .ops = {.current = toy_current, .minimum = toy_minimum, .at = toy_validators_at}, .cnt = cnt, .current = 100};
    for (u32 i = 0; i < cnt; i++) {
        u8 cert[TOY_CERT_LEN];
        cd_put_be64(cert, i);
        cd_vm_validator v = {.node_id = toy_node_id(cd_bytes_of(cert, sizeof cert)), .weight = 10 + i};
        u32 at = i;
        for (; at > 0 && memcmp(all->v[at - 1].node_id.b, v.node_id.b, sizeof v.node_id.b) > 0; at--) {
            all->v[at] = all->v[at - 1];
        }
        all->v[at] = v;
    }
}

#endif
