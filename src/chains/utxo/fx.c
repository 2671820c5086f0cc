#include "chains/utxo/fx.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "base/table/siphash.h"
#include "codec/ids.h"
#include "crypto/ec/secp256k1.h"
#include "crypto/hash/sha2.h"

/* --- the memory of signers --- */

enum { SIGNERS = 4096, WAYS = 4, TOGETHER = 64, FLAG_COMPRESSED = 4 };

/* What was signed, and the signature. */
typedef struct question {
    cd_hash32 hash;
    cd_signature sig;
} question;

typedef struct signer {
    question q;
    cd_addr20 addr;
    bool is_used;
} signer;

/* Sets of WAYS entries; a set forgets its oldest entry. The key of the hash keeps others from choosing the set. */
struct cd_fx {
    cd_sipkey key;
    usize mask; /* sets - 1 */
    signer *slots;
    u8 *oldest; /* of each set */
};

cd_fx *cd_fx_new(usize cnt)
{
    usize sets = 1;
    cnt = cnt == 0 ? SIGNERS : cnt;
    while (sets * 2 * WAYS <= cnt) {
        sets *= 2;
    }
    cd_fx *fx = cd_new(cd_fx);
    cd_rng rng = cd_rng_os();
    cd_rng_fill(&rng, &fx->key, sizeof fx->key);
    fx->mask = sets - 1;
    fx->slots = cd_new_array(signer, sets * WAYS);
    fx->oldest = cd_alloc(sets);
    return fx;
}

void cd_fx_free(cd_fx *fx)
{
    if (fx != NULL) {
        cd_free(fx->slots);
        cd_free(fx->oldest);
        cd_free(fx);
    }
}

static usize set_of(const cd_fx *fx, const question *q)
{
    return cd_siphash13(fx->key, cd_bytes_of(q, sizeof *q)) & fx->mask;
}

static const cd_addr20 *recall(const cd_fx *fx, const question *q)
{
    const signer *s = &fx->slots[set_of(fx, q) * WAYS];
    for (usize i = 0; i < WAYS; i++) {
        if (s[i].is_used && memcmp(&s[i].q, q, sizeof *q) == 0) {
            return &s[i].addr;
        }
    }
    return NULL;
}

static void remember(cd_fx *fx, const question *q, const cd_addr20 *addr)
{
    usize set = set_of(fx, q);
    signer *s = &fx->slots[set * WAYS + fx->oldest[set]];
    fx->oldest[set] = (u8)((fx->oldest[set] + 1) % WAYS);
    *s = (signer){.q = *q, .addr = *addr, .is_used = true};
}

/* --- signatures --- */

/* Recovery IDs 0 to 3 say which key it is; 4 to 7 would be the same for a compressed one, which nobody signs with. */
static u8 recovery_of(const cd_signature *sig)
{
    return sig->b[64] & (FLAG_COMPRESSED - 1);
}

/* Half of the group's order and above: the other of the two s that say the same. */
static bool is_mutated(const cd_signature *sig)
{
    static const u8 order[32] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                 0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48,
                                 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41};
    static const u8 zero[32];
    const u8 *s = sig->b + 32;
    return !cd_secp256k1_is_low_s(sig->b) && memcmp(s, zero, 32) != 0 && memcmp(s, order, 32) < 0;
}

static cd_err refuse_form(const cd_signature *sig, cd_errinfo *why)
{
    return is_mutated(sig) ? cd_fail(why, CD_ESIG, "signature was mutated from its original format") : CD_OK;
}

/* Finds who signed, with the original's words for what is no signature. */
static cd_err signer_of(cd_fx *fx, cd_addr20 *out, const question *q, cd_errinfo *why)
{
    const cd_addr20 *known = recall(fx, q);
    u8 pub[64];
    if (known != NULL) {
        *out = *known;
        return CD_OK;
    }
    CD_TRY(refuse_form(&q->sig, why));
    if (q->sig.b[64] >= 2 * FLAG_COMPRESSED ||
        cd_secp256k1_recover(pub, &q->hash, q->sig.b, recovery_of(&q->sig)) != CD_OK) {
        return cd_fail(why, CD_ESIG, "invalid signature");
    }
    if (q->sig.b[64] >= FLAG_COMPRESSED) {
        return cd_fail(why, CD_ESIG, "wasn't expecting a compressed key");
    }
    cd_secp256k1_short_addr(out, pub);
    remember(fx, q, out);
    return CD_OK;
}

/* Signatures that are not known, collected until there are enough to be worth a round. */
typedef struct round {
    cd_fx *fx;
    usize cnt;
    question asked[TOGETHER];
} round;

static void round_run(round *r)
{
    cd_secp256k1_query queries[TOGETHER];
    cd_addr20 addrs[TOGETHER];
    bool ok[TOGETHER];
    for (usize i = 0; i < r->cnt; i++) {
        queries[i] = (cd_secp256k1_query){.msg = r->asked[i].hash, .recid = r->asked[i].sig.b[64]};
        memcpy(queries[i].sig, r->asked[i].sig.b, sizeof queries[i].sig);
    }
    cd_secp256k1_recover_short_many(addrs, ok, queries, r->cnt);
    for (usize i = 0; i < r->cnt; i++) {
        if (ok[i]) {
            remember(r->fx, &r->asked[i], &addrs[i]);
        }
    }
    r->cnt = 0;
}

static void round_add(round *r, const cd_hash32 *hash, const cd_signature *sig)
{
    question q = {.hash = *hash, .sig = *sig};
    bool is_good = sig->b[64] < FLAG_COMPRESSED && cd_secp256k1_is_low_s(sig->b);
    if (!is_good || recall(r->fx, &q) != NULL) {
        return; /* cd_fx_check says what is wrong with it */
    }
    r->asked[r->cnt++] = q;
    if (r->cnt == TOGETHER) {
        round_run(r);
    }
}

void cd_fx_recover(cd_fx *fx, const cd_fx_signed *txs, usize cnt)
{
    usize room = (fx->mask + 1) * WAYS / 2; /* more would forget what came first */
    round r = {.fx = fx};
    for (usize i = 0; i < cnt && room > 0; i++) {
        const cd_linear_any *cred = txs[i].creds->v;
        for (u32 k = 0; k < txs[i].creds->cnt; k++) {
            const cd_linear_list *sigs = &((const cd_credential *)cred[k].v)->sigs;
            for (u32 j = 0; j < sigs->cnt && room > 0; j++, room--) {
                round_add(&r, &txs[i].hash, &((const cd_signature *)sigs->v)[j]);
            }
        }
    }
    round_run(&r);
}

cd_err cd_fx_sign(cd_signature *sigs, const cd_hash32 *hash, const u8 (*secrets)[32], usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(cd_secp256k1_sign(sigs[i].b, &sigs[i].b[64], hash, secrets[i]));
    }
    return CD_OK;
}

void cd_fx_hash(cd_hash32 *out, cd_bytes unsigned_bytes)
{
    cd_sha256(out, unsigned_bytes);
}

/* --- shape --- */

static const cd_addr20 *addr_at(const cd_owners *o, u32 i)
{
    return &((const cd_addr20 *)o->addrs.v)[i];
}

cd_err cd_fx_owners_ok(const cd_owners *o, cd_errinfo *why)
{
    if (o->threshold > o->addrs.cnt) {
        return cd_fail(why, CD_EINVAL, "output is unspendable");
    }
    if (o->threshold == 0 && o->addrs.cnt > 0) {
        return cd_fail(why, CD_EINVAL, "output representation should be optimized");
    }
    for (u32 i = 1; i < o->addrs.cnt; i++) {
        if (memcmp(addr_at(o, i - 1), addr_at(o, i), sizeof(cd_addr20)) >= 0) {
            return cd_fail(why, CD_EINVAL, "addresses not sorted and unique");
        }
    }
    return CD_OK;
}

cd_err cd_fx_output_ok(const cd_transfer_output *o, cd_errinfo *why)
{
    if (o->amount == 0) {
        return cd_fail(why, CD_EINVAL, "output has no value");
    }
    return cd_fx_owners_ok(&o->owners, why);
}

cd_err cd_fx_indices_ok(const cd_linear_list *sig_indices, cd_errinfo *why)
{
    const u32 *v = sig_indices->v;
    for (u32 i = 1; i < sig_indices->cnt; i++) {
        if (v[i - 1] >= v[i]) {
            return cd_fail(why, CD_EINVAL, "address indices not sorted and unique");
        }
    }
    return CD_OK;
}

cd_err cd_fx_input_ok(const cd_transfer_input *in, cd_errinfo *why)
{
    if (in->amount == 0) {
        return cd_fail(why, CD_EINVAL, "input has no value");
    }
    return cd_fx_indices_ok(&in->sig_indices, why);
}

/* --- permission --- */

static cd_err refuse_signer(const cd_addr20 *want, const cd_addr20 *got, cd_errinfo *why)
{
    cd_buf a = {0};
    cd_buf b = {0};
    cd_short_id_put(&a, want);
    cd_short_id_put(&b, got);
    cd_err e = cd_fail(why, CD_EACCES, "wrong signature: expected signature from %s but got from %s", cd_buf_cstr(&a),
                       cd_buf_cstr(&b));
    cd_buf_fini(&a);
    cd_buf_fini(&b);
    return e;
}

cd_err cd_fx_check(cd_fx *fx, const cd_fx_at *at, const cd_linear_list *sig_indices, const cd_credential *cred,
                   const cd_owners *owners, cd_errinfo *why)
{
    const u32 *index = sig_indices->v;
    if (owners->locktime > at->now) {
        return cd_fail(why, CD_EACCES, "output is time locked");
    }
    if (owners->threshold < sig_indices->cnt) {
        return cd_fail(why, CD_EACCES, "input has more signers than expected");
    }
    if (owners->threshold > sig_indices->cnt) {
        return cd_fail(why, CD_EACCES, "input has less signers than expected");
    }
    if (sig_indices->cnt != cred->sigs.cnt) {
        return cd_fail(why, CD_EACCES, "input expected a different number of signers than provided in the credential");
    }
    for (u32 i = 0; at->hash != NULL && i < sig_indices->cnt; i++) {
        question q = {.hash = *at->hash, .sig = ((const cd_signature *)cred->sigs.v)[i]};
        cd_addr20 got;
        if (index[i] >= owners->addrs.cnt) {
            return cd_fail(why, CD_EACCES, "input referenced a nonexistent address in the output");
        }
        CD_TRY(signer_of(fx, &got, &q, why));
        if (!cd_addr20_eq(&got, addr_at(owners, index[i]))) {
            return refuse_signer(addr_at(owners, index[i]), &got, why);
        }
    }
    return CD_OK;
}

cd_err cd_fx_spend(cd_fx *fx, const cd_fx_at *at, const cd_transfer_input *in, const cd_credential *cred,
                   const cd_transfer_output *out, cd_errinfo *why)
{
    CD_TRY(cd_fx_output_ok(out, why));
    CD_TRY(cd_fx_input_ok(in, why));
    if (out->amount != in->amount) {
        return cd_fail(why, CD_EINVAL, "utxo amount and input amount are not equal: %llu != %llu",
                       (unsigned long long)out->amount, (unsigned long long)in->amount);
    }
    return cd_fx_check(fx, at, &in->sig_indices, cred, &out->owners, why);
}

cd_err cd_fx_permit(cd_fx *fx, const cd_fx_at *at, const cd_auth_input *in, const cd_credential *cred,
                    const cd_owners *owner, cd_errinfo *why)
{
    CD_TRY(cd_fx_indices_ok(&in->sig_indices, why));
    CD_TRY(cd_fx_owners_ok(owner, why));
    return cd_fx_check(fx, at, &in->sig_indices, cred, owner, why);
}

/* --- who could sign --- */

static bool holds(const cd_addr20 *addrs, usize cnt, const cd_addr20 *a)
{
    usize lo = 0;
    usize hi = cnt;
    while (lo < hi) {
        usize mid = lo + (hi - lo) / 2;
        int c = memcmp(addrs[mid].b, a->b, sizeof a->b);
        if (c == 0) {
            return true;
        }
        if (c < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return false;
}

bool cd_fx_match(u32 *indices, u32 max, const cd_owners *owners, const cd_addr20 *addrs, usize cnt, u64 now)
{
    u32 found = 0;
    if (owners->locktime > now || owners->threshold > max) {
        return false;
    }
    for (u32 i = 0; i < owners->addrs.cnt && found < owners->threshold; i++) {
        if (holds(addrs, cnt, addr_at(owners, i))) {
            indices[found++] = i;
        }
    }
    return found == owners->threshold;
}
