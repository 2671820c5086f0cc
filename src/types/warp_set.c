#include "types/warp_set.h"

#include "num/u256.h"

#include <stdlib.h>

/* --- canonical sets --- */

static int member_cmp(const void *a, const void *b)
{
    const cd_warp_member *x = a;
    const cd_warp_member *y = b;
    return memcmp(x->raw, y->raw, sizeof x->raw);
}

/* The sum of the members' keys whose bit is is_set; bits NULL: of all. CD_EINVAL when there is none, CD_EKEY. */
static cd_err sum_of(cd_bls_pk *out, const cd_warp_set *set, const cd_bytes *bits, bool is_set)
{
    cd_arena a = {0};
    cd_bls_pk *keys = cd_arena_array(&a, cd_bls_pk, set->cnt);
    usize n = 0;
    for (usize i = 0; i < set->cnt; i++) {
        if (bits == NULL || cd_bits_has(*bits, i) == is_set) {
            keys[n++] = set->members[i].key;
        }
    }
    cd_err e = cd_bls_agg_pks(out, keys, n);
    cd_arena_fini(&a);
    return e;
}

/* The sum of the keys of those who signed, the shorter way. CD_EKEY when it is infinity. */
static cd_err sum_of_signers(cd_bls_pk *out, const cd_warp_set *set, cd_bytes bits, usize signers)
{
    cd_bls_pk away;
    if (!set->has_sum || signers <= set->cnt / 2) {
        return sum_of(out, set, &bits, true);
    }
    cd_err e = sum_of(&away, set, &bits, false);
    if (e == CD_EINVAL) { /* nobody is away */
        *out = set->sum;
        return CD_OK;
    }
    return e == CD_OK ? cd_bls_pk_less(out, &set->sum, &away) : sum_of(out, set, &bits, true);
}

cd_err cd_warp_set_make(cd_warp_set *out, cd_arena *a, const cd_warp_validator *validators, usize cnt)
{
    cd_warp_member *members = cd_arena_array(a, cd_warp_member, cnt);
    usize n = 0;
    u64 total = 0;
    for (usize i = 0; i < cnt; i++) {
        if (!cd_add_u64(&total, total, validators[i].weight)) {
            return CD_ERANGE;
        }
        if (validators[i].has_key) {
            members[n].key = validators[i].key;
            members[n].weight = validators[i].weight;
            cd_bls_pk_enc_raw(members[n].raw, &members[n].key);
            n++;
        }
    }
    if (n != 0) {
        qsort(members, n, sizeof *members, member_cmp);
    }
    usize kept = 0;
    for (usize i = 0; i < n; i++) {
        if (kept != 0 && member_cmp(&members[kept - 1], &members[i]) == 0) {
            members[kept - 1].weight += members[i].weight;
        } else {
            members[kept++] = members[i];
        }
    }
    *out = (cd_warp_set){.members = members, .cnt = kept, .total = total};
    out->has_sum = sum_of(&out->sum, out, NULL, true) == CD_OK;
    return CD_OK;
}

/* --- one message --- */

static cd_err check_weight(u64 have, u64 total, u64 num, u64 den, cd_errinfo *why)
{
    cd_u256 need;
    cd_u256 weighs;
    cd_u256 a = cd_u256_from_u64(total);
    cd_u256 b = cd_u256_from_u64(have);
    (void)cd_u256_mul_u64(&need, &a, num);
    (void)cd_u256_mul_u64(&weighs, &b, den);
    if (!cd_u256_lt(&weighs, &need)) {
        return CD_OK;
    }
    return cd_fail(why, CD_EINVAL, "signature weight is insufficient: %llu*%llu > %llu*%llu", (unsigned long long)num,
                   (unsigned long long)total, (unsigned long long)den, (unsigned long long)have);
}

cd_err cd_warp_check(const cd_warp_message *m, u32 network_id, const cd_warp_set *set, u64 quorum_num, u64 quorum_den,
                     cd_errinfo *why)
{
    if (m->body.network_id != network_id) {
        return cd_fail(why, CD_EINVAL, "wrong networkID");
    }
    if (!cd_bits_is_minimal(m->signers)) {
        return cd_fail(why, CD_EINVAL, "bitset is invalid");
    }
    u64 len = cd_bits_len(m->signers);
    if (len > set->cnt) {
        return cd_fail(why, CD_EINVAL, "unknown validator: NumIndices (%llu) >= NumFilteredValidators (%zu)",
                       (unsigned long long)(len - 1), set->cnt);
    }
    u64 weight = 0;
    usize signers = 0;
    for (usize i = 0; i < set->cnt; i++) {
        if (cd_bits_has(m->signers, i)) {
            weight += set->members[i].weight; /* cannot overflow: it stays at or below the total */
            signers++;
        }
    }
    CD_TRY(check_weight(weight, set->total, quorum_num, quorum_den, why));
    cd_bls_sig sig;
    if (cd_bls_sig_dec(&sig, cd_bytes_of(m->signature, sizeof m->signature)) != CD_OK) {
        return cd_fail(why, CD_ESIG, "failed to parse signature: invalid signature");
    }
    if (signers == 0) {
        return cd_fail(why, CD_ESIG, "no public keys");
    }
    cd_bls_pk key;
    bool ok = sum_of_signers(&key, set, m->signers, signers) == CD_OK && cd_bls_verify(&sig, CD_BLS_POP, m->text, &key);
    return ok ? CD_OK : cd_fail(why, CD_ESIG, "signature is invalid");
}
