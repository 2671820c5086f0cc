/* finality/cert/test/years.h - sets that change from epoch to epoch, out of a pool of validators, and the changes
 * signed. Test code: included by one file each. */
#ifndef CD_FINALITY_TEST_YEARS_H
#define CD_FINALITY_TEST_YEARS_H

#include "finality/cert/book.h"
#include "finality/cert/test/world.h"

/* An epoch made of some of a pool's validators: member[i] is the place in the pool of validator i of the set. */
typedef struct year_epoch {
    cd_fin_epoch epoch;
    cd_fin_validator validators[WORLD_MAX];
    u32 member[WORLD_MAX];
} year_epoch;

/* Makes epoch number of pool: cnt members starting at first, and round again behind the last. */
__attribute__((unused)) static void year_make(year_epoch *y, const world *pool, u64 number, u32 first, u32 cnt)
{
    bool is_in[WORLD_MAX] = {0};
    memset(y, 0, sizeof *y);
    for (u32 i = 0; i < cnt; i++) {
        is_in[(first + i) % pool->n] = true;
    }
    y->epoch.network = 1337;
    y->epoch.number = number;
    y->epoch.set.from = 100 * (number + 1);
    y->epoch.set.until = UINT64_MAX;
    y->epoch.set.validators = y->validators;
    for (u32 i = 0; i < pool->n; i++) {
        if (is_in[i]) {
            u32 at = y->epoch.set.cnt++;
            y->member[at] = i;
            y->validators[at] = pool->validators[i];
            y->epoch.set.total += pool->validators[i].weight;
        }
    }
}

__attribute__((unused)) static bool year_has(const year_epoch *y, u32 member)
{
    bool has = false;
    for (u32 i = 0; i < y->epoch.set.cnt; i++) {
        has = has || y->member[i] == member;
    }
    return has;
}

/* Signs the ID of next by those of base who are also in present; appends the certificate. */
__attribute__((unused)) static void year_certify(cd_buf *out, world *pool, const year_epoch *base,
                                                 const year_epoch *next, const year_epoch *present, cd_fin_type type)
{
    u8 text[CD_FIN_MSG_BYTES];
    u8 of_pool[WORLD_MAX / 8] = {0};
    u8 bits[WORLD_MAX / 8] = {0};
    cd_buf bls = {0};
    cd_buf mldsa = {0};
    cd_fin_cert c = {.type = type, .chain = cd_fin_epoch_chain, .total = base->epoch.set.total};
    u32 cnt = base->epoch.set.cnt;
    cd_fin_epoch_msg(&c.msg, &next->epoch, 1700000000000000000ull + next->epoch.number);
    cd_fin_msg_enc(text, &c.msg);
    for (u32 i = 0; i < cnt; i++) {
        if (year_has(present, base->member[i])) {
            of_pool[base->member[i] / 8] |= (u8)(1 << base->member[i] % 8);
            bits[i / 8] |= (u8)(1 << i % 8);
            c.signed_by += base->validators[i].weight;
        }
    }
    world_sign_bls(pool, &bls, of_pool, cd_bytes_of(text, sizeof text));
    if (type == CD_FIN_MLDSA) {
        /* as few as are needed */
        u64 weight = 0;
        for (u32 i = 0; i < cnt; i++) {
            if (cd_fin_quorum(weight, c.total)) {
                of_pool[base->member[i] / 8] &= (u8) ~(1 << base->member[i] % 8);
            }
            weight += year_has(present, base->member[i]) ? base->validators[i].weight : 0;
        }
        world_sign_mldsa(pool, &mldsa, of_pool, cd_bytes_of(text, sizeof text));
    }
    c.bits = cd_bytes_of(bits, sizeof bits);
    c.bls = cd_buf_bytes(&bls);
    c.mldsa = cd_buf_bytes(&mldsa);
    cd_fin_cert_put(out, &c);
    cd_buf_fini(&bls);
    cd_buf_fini(&mldsa);
}

/* Appends the change from base to next, signed as above. */
__attribute__((unused)) static void year_change(cd_buf *out, world *pool, const year_epoch *base,
                                                const year_epoch *next, const year_epoch *present, cd_fin_type type)
{
    cd_buf cert = {0};
    year_certify(&cert, pool, base, next, present, type);
    cd_fin_change_put(out, &base->epoch, &next->epoch, next->epoch.set.group != NULL, cd_buf_bytes(&cert));
    cd_buf_fini(&cert);
}

#endif
