#include "finality/cert/verify.h"

#include "base/rd.h"

bool cd_fin_quorum(u64 weight, u64 total)
{
    return 3 * (u128)weight >= 2 * (u128)total;
}

u32 cd_fin_threshold(u32 n)
{
    u32 t = 2 * n / 3 + 1;
    return t < 2 ? 2 : t;
}

bool cd_fin_set_is_good(const cd_fin_set *set)
{
    bool ok = set->cnt != 0 && set->cnt <= CD_FIN_VALIDATORS_MAX && set->from < set->until;
    u64 total = 0;
    for (u32 i = 0; ok && i < set->cnt; i++) {
        const cd_fin_validator *v = &set->validators[i];
        ok = v->weight != 0 && cd_add_u64(&total, total, v->weight) &&
             (i == 0 || memcmp(v[-1].node.b, v->node.b, sizeof v->node.b) < 0);
    }
    return ok && total == set->total;
}

/* --- who signed --- */

/* Goes through node IDs at the front of entries of size bytes, in the order of the set. */
typedef struct walk {
    const cd_fin_set *set;
    cd_bytes list;
    usize size;
    usize entry; /* number of the entry that comes next */
    u32 place;   /* in the set, behind that of the last entry */
} walk;

/* Gives the next entry's place in the set; false when the rest of the set lacks it. The caller asks no more often than
 * there are entries. */
static bool walk_next(walk *w, u32 *place)
{
    const u8 *node = w->list.p + w->size * w->entry++;
    for (u32 i = w->place; i < w->set->cnt; i++) {
        if (memcmp(w->set->validators[i].node.b, node, CD_FIN_NODE_BYTES) == 0) {
            *place = i;
            w->place = i + 1;
            return true;
        }
    }
    return false;
}

/* Adds up weights and keys of those whose bit is set. */
static cd_fin_flaw add_bits(u64 *weight, cd_bls_sum *keys, const cd_fin_cert *cert, const cd_fin_set *set)
{
    if (cert->bits.n > (set->cnt + 7) / 8) {
        return CD_FLAW_STRANGER;
    }
    for (usize i = 0; i < cert->bits.n * 8; i++) {
        if (!cd_fin_bit(cert->bits, i)) {
            continue;
        }
        if (i >= set->cnt) {
            return CD_FLAW_STRANGER;
        }
        *weight += set->validators[i].weight; /* no more than the total, as every bit counts once */
        cd_bls_sum_add(keys, &set->validators[i].bls);
    }
    return CD_FLAW_NONE;
}

/* Checks that the parties of the threshold signature are members and enough; of type 1 the bits say the same. */
static cd_fin_flaw check_parties(const cd_fin_cert *cert, const cd_fin_set *set)
{
    u32 cnt = (u32)(cert->parties.n / CD_FIN_NODE_BYTES);
    walk w = {.set = set, .list = cert->parties, .size = CD_FIN_NODE_BYTES};
    u32 place = 0;
    u32 with_bit = 0;
    for (u32 k = 0; k < cnt; k++) {
        if (!walk_next(&w, &place)) {
            return CD_FLAW_STRANGER;
        }
        with_bit += cd_fin_bit(cert->bits, place);
    }
    if (cert->type == CD_FIN_LATTICE) {
        u32 bits = 0;
        for (u32 i = 0; i < set->cnt; i++) {
            bits += cd_fin_bit(cert->bits, i);
        }
        if (with_bit != cnt || bits != cnt) {
            return CD_FLAW_STRANGER;
        }
    }
    return set->group == NULL ? CD_FLAW_NO_GROUP : cnt < cd_fin_threshold(set->cnt) ? CD_FLAW_PARTIES : CD_FLAW_NONE;
}

/* Checks that those who signed by ML-DSA are members with a key, and two thirds. */
static cd_fin_flaw check_mldsa_signers(const cd_fin_cert *cert, const cd_fin_set *set)
{
    usize cnt = cert->mldsa.n / CD_FIN_MLDSA_BYTES;
    walk w = {.set = set, .list = cert->mldsa, .size = CD_FIN_MLDSA_BYTES};
    u32 place = 0;
    u64 weight = 0;
    for (usize k = 0; k < cnt; k++) {
        if (!walk_next(&w, &place)) {
            return CD_FLAW_STRANGER;
        }
        if (set->validators[place].mldsa == NULL) {
            return CD_FLAW_NO_MLDSA;
        }
        weight += set->validators[place].weight;
    }
    return cd_fin_quorum(weight, set->total) ? CD_FLAW_NONE : CD_FLAW_MLDSA_QUORUM;
}

/* Asks all that needs no signature; *keys becomes the sum of the keys of those in bits. */
static cd_fin_flaw check_claims(cd_bls_sum *keys, const cd_fin_cert *cert, const cd_fin_set *set,
                                const cd_hash32 *chain)
{
    u64 weight = 0;
    if (!cd_hash32_eq(&cert->chain, chain)) {
        return CD_FLAW_CHAIN;
    }
    if (cert->msg.height < set->from || cert->msg.height >= set->until) {
        return CD_FLAW_EPOCH;
    }
    cd_fin_flaw flaw = add_bits(&weight, keys, cert, set);
    if (flaw != CD_FLAW_NONE) {
        return flaw;
    }
    if (cert->total != set->total) {
        return CD_FLAW_TOTAL;
    }
    if (cert->signed_by != weight) {
        return CD_FLAW_WEIGHT;
    }
    if (cert->bls.n != 0 && !cd_fin_quorum(weight, set->total)) {
        return CD_FLAW_QUORUM;
    }
    if (cert->parties.n != 0) {
        return check_parties(cert, set);
    }
    return cert->mldsa.n != 0 ? check_mldsa_signers(cert, set) : CD_FLAW_NONE;
}

/* --- signatures --- */

static cd_fin_flaw check_bls(const cd_fin_cert *cert, const cd_bls_sum *keys, cd_bytes msg)
{
    cd_bls_sig sig;
    cd_bls_pk key;
    if (cd_bls_sig_dec(&sig, cert->bls) != CD_OK) {
        return CD_FLAW_BLS_FORM;
    }
    bool ok = cd_bls_sum_end(&key, keys) == CD_OK && cd_bls_verify(&sig, CD_BLS_POP, msg, &key);
    return ok ? CD_FLAW_NONE : CD_FLAW_BLS;
}

static cd_fin_flaw check_lattice(const cd_fin_cert *cert, const cd_fin_set *set, cd_bytes msg, cd_fin_room *room)
{
    cd_rd r = cd_rd_init(cert->lattice);
    cd_rt_sig_read(&r, &room->sig);
    if (cd_rd_end(&r) != CD_OK) {
        return CD_FLAW_LATTICE_FORM;
    }
    return cd_rt_verify(set->group, &room->sig, msg) ? CD_FLAW_NONE : CD_FLAW_LATTICE;
}

static cd_fin_flaw check_mldsa(const cd_fin_cert *cert, const cd_fin_set *set, cd_bytes msg)
{
    usize cnt = cert->mldsa.n / CD_FIN_MLDSA_BYTES;
    walk w = {.set = set, .list = cert->mldsa, .size = CD_FIN_MLDSA_BYTES};
    u32 place = 0;
    for (usize k = 0; k < cnt; k++) {
        cd_bytes sig = cd_bytes_sub(cert->mldsa, k * CD_FIN_MLDSA_BYTES + CD_FIN_NODE_BYTES, CD_MLDSA_SIG);
        if (!walk_next(&w, &place) || !cd_mldsa_verify(set->validators[place].mldsa, sig, msg, (cd_bytes){0})) {
            return CD_FLAW_MLDSA;
        }
    }
    return CD_FLAW_NONE;
}

cd_fin_flaw cd_fin_verify(const cd_fin_cert *cert, const cd_fin_set *set, const cd_hash32 *chain, cd_fin_room *room)
{
    u8 msg_bytes[CD_FIN_MSG_BYTES];
    cd_bls_sum keys = {0};
    cd_fin_msg_enc(msg_bytes, &cert->msg);
    cd_bytes msg = cd_bytes_of(msg_bytes, sizeof msg_bytes);
    cd_fin_flaw flaw = check_claims(&keys, cert, set, chain);
    if (flaw == CD_FLAW_NONE && cert->bls.n != 0) {
        flaw = check_bls(cert, &keys, msg);
    }
    if (flaw == CD_FLAW_NONE && cert->lattice.n != 0) {
        flaw = check_lattice(cert, set, msg, room);
    }
    if (flaw == CD_FLAW_NONE && cert->mldsa.n != 0) {
        flaw = check_mldsa(cert, set, msg);
    }
    return flaw;
}

cd_fin_flaw cd_fin_verify_bytes(cd_fin_cert *out, cd_bytes bytes, const cd_fin_set *set, const cd_hash32 *chain,
                                cd_fin_room *room)
{
    cd_fin_flaw flaw = cd_fin_cert_parse(out, bytes);
    return flaw != CD_FLAW_NONE ? flaw : cd_fin_verify(out, set, chain, room);
}
