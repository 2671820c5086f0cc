/* ML-DSA keys: each validator announces its own, signed by the BLS key that it is registered with.
 *
 *   own key, number ─► who connects, all others     heard ─► is it newer, and its owner's? ─► kept, told to some others
 *
 * Of two keys the one with the higher number counts, of two with the same number the one whose SHA-256 is lesser: so
 * all end with the same one, whatever its owner tells whom. A node whose key is another than the one that it announced
 * last takes the next number; one that has forgotten is told by those who have not. */
#include "finality/finality_priv.h"

#include "base/mem/mem.h"
#include "base/rd.h"
#include "crypto/hash/sha2.h"

enum { PACE_MS = 60000, FANOUT = 8, STORED = CD_MLDSA_PK + 8 + 1 + CD_BLS_SIG_LEN };

/* --- the store: 'A' node ──► key, u64 number, u8 whether the proof is there, proof --- */

static cd_err store_key(cd_finality *f, const cd_node_id *node, const cd__fin_key *k)
{
    u8 at[1 + CD_FIN_NODE_BYTES] = {'A'};
    u8 v[STORED];
    memcpy(at + 1, node->b, CD_FIN_NODE_BYTES);
    memcpy(v, k->key, CD_MLDSA_PK);
    cd_put_be64(v + CD_MLDSA_PK, k->number);
    v[CD_MLDSA_PK + 8] = k->has_proof;
    memcpy(v + CD_MLDSA_PK + 9, k->proof, CD_BLS_SIG_LEN);
    return cd_kv_put(f->cfg.kv, cd_bytes_of(at, sizeof at), cd_bytes_of(v, sizeof v));
}

/* Those of a store of before there were numbers are the key alone. */
static cd_err read_key(cd__fin_key *out, cd_bytes v)
{
    *out = (cd__fin_key){.number = 0};
    if (v.n != STORED && v.n != CD_MLDSA_PK) {
        return CD_ECORRUPT;
    }
    memcpy(out->key, v.p, CD_MLDSA_PK);
    if (v.n == STORED) {
        out->number = cd_be64(v.p + CD_MLDSA_PK);
        out->has_proof = v.p[CD_MLDSA_PK + 8] == 1;
        memcpy(out->proof, v.p + CD_MLDSA_PK + 9, CD_BLS_SIG_LEN);
    }
    return CD_OK;
}

static cd_err load(cd_finality *f)
{
    const u8 table = 'A';
    const cd_kv_range all = {.prefix = cd_bytes_of(&table, 1)};
    cd_kv_iter *it;
    CD_TRY(cd_kv_iter_new(&it, f->cfg.kv, &all));
    cd_err e = CD_OK;
    while (e == CD_OK && cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        cd__fin_key k;
        e = key.n == 1 + CD_FIN_NODE_BYTES ? read_key(&k, cd_kv_iter_value(it)) : CD_ECORRUPT;
        if (e == CD_OK) {
            cd_node_id node;
            memcpy(node.b, key.p + 1, sizeof node.b);
            *(cd__fin_key *)cd_hmap_put(&f->keys, NULL, &node) = k;
        }
    }
    e = e == CD_OK ? cd_kv_iter_err(it) : e;
    cd_kv_iter_free(it);
    return e;
}

/* The own key: it has the number that it had, or the next one when it is another. */
static cd_err open_own(cd_finality *f)
{
    const cd__fin_key *known = cd_hmap_get(&f->keys, &f->cfg.self);
    bool is_other = known == NULL || memcmp(known->key, f->cfg.mldsa_key, CD_MLDSA_PK) != 0;
    if (!is_other) {
        return CD_OK;
    }
    cd__fin_key own = {.number = known == NULL || known->number == UINT64_MAX ? 0 : known->number + 1};
    memcpy(own.key, f->cfg.mldsa_key, CD_MLDSA_PK);
    *(cd__fin_key *)cd_hmap_put(&f->keys, NULL, &f->cfg.self) = own;
    return store_key(f, &f->cfg.self, &own);
}

cd_err cd__fin_keys_open(cd_finality *f)
{
    CD_TRY(load(f));
    return f->cfg.mldsa_key != NULL ? open_own(f) : CD_OK;
}

/* --- saying --- */

static void put_says(cd_buf *out, const cd_node_id *node, const cd__fin_key *k)
{
    const cd_fin_says says = {.kind = k->number == 0 ? CD_FIN_SAYS_KEY : CD_FIN_SAYS_NEXT_KEY,
                              .node = *node,
                              .number = k->number,
                              .bytes = cd_bytes_of(k->key, CD_MLDSA_PK),
                              .proof = cd_bytes_of(k->proof, CD_BLS_SIG_LEN)};
    cd_fin_says_put(out, &says);
}

bool cd__fin_announce(cd_finality *f, cd_buf *out)
{
    cd__fin_key *own = f->cfg.mldsa_key == NULL ? NULL : cd_hmap_get(&f->keys, &f->cfg.self);
    if (own == NULL || f->cfg.signer == NULL) {
        return false;
    }
    if (!own->has_proof) {
        cd_buf text = {0};
        cd_fin_key_text(&text, &f->cfg.self, own->key, own->number);
        own->has_proof = f->cfg.signer->sign(f->cfg.signer, own->proof, cd_buf_bytes(&text)) == CD_OK &&
                         store_key(f, &f->cfg.self, own) == CD_OK;
        cd_buf_fini(&text);
    }
    if (own->has_proof) {
        put_says(out, &f->cfg.self, own);
    }
    return own->has_proof;
}

/* Tells validators of the newest epoch: all of them, or a few at random, from where it goes on. */
static void spread(cd_finality *f, cd_bytes message, bool to_all)
{
    const cd_fin_set *set = &f->epochs.rows[f->epochs.cnt - 1].set;
    u32 cnt = to_all ? set->cnt : (u32)cd_min_u64(set->cnt, FANOUT);
    u32 first = to_all ? 0 : (u32)cd_rng_below(f->cfg.rng, set->cnt);
    cd_node_id to[FANOUT];
    u32 n = 0;
    for (u32 i = 0; i < cnt; i++) {
        u32 at = to_all || cnt == set->cnt ? (first + i) % set->cnt : (u32)cd_rng_below(f->cfg.rng, set->cnt);
        if (memcmp(&set->validators[at].node, &f->cfg.self, sizeof *to) != 0) {
            to[n++] = set->validators[at].node;
        }
        if (n == FANOUT || (i + 1 == cnt && n != 0)) {
            f->cfg.out.tell(f->cfg.out.ctx, to, n, message);
            n = 0;
        }
    }
}

/* --- hearing --- */

/* The BLS key of a node in the newest epoch that has it. */
static const cd_bls_pk *signer_of(cd_finality *f, const cd_node_id *node)
{
    for (u32 i = f->epochs.cnt; i-- != 0;) {
        const cd_fin_set *set = &f->epochs.rows[i].set;
        u32 index = cd_fin_set_find(set, node);
        if (index != set->cnt) {
            return &set->validators[index].bls;
        }
    }
    return NULL;
}

/* Whether what is said counts before what is known. */
static bool is_newer(const cd_fin_says *s, const cd__fin_key *known)
{
    cd_hash32 old;
    cd_hash32 fresh;
    if (known == NULL || s->number != known->number) {
        return known == NULL || s->number > known->number;
    }
    cd_sha256(&old, cd_bytes_of(known->key, CD_MLDSA_PK));
    cd_sha256(&fresh, s->bytes);
    return memcmp(fresh.b, old.b, 32) < 0;
}

static bool is_signed(const cd_fin_says *s, const cd_bls_pk *bls)
{
    cd_buf text = {0};
    cd_bls_sig sig;
    cd_fin_key_text(&text, &s->node, s->bytes.p, s->number);
    bool good = cd_bls_sig_dec(&sig, s->proof) == CD_OK && cd_bls_verify(&sig, CD_BLS_POP, cd_buf_bytes(&text), bls);
    cd_buf_fini(&text);
    return good;
}

/* Others know another key as this node's: the one that it has is announced with a higher number. */
static void outdo(cd_finality *f, cd__fin_key *own, u64 number)
{
    cd_buf bytes = {0};
    own->number = number + 1;
    own->has_proof = false;
    if (cd__fin_announce(f, &bytes)) {
        spread(f, cd_buf_bytes(&bytes), true);
    }
    cd_buf_fini(&bytes);
}

static void take(cd_finality *f, const cd_fin_says *s, u64 now)
{
    bool is_first;
    cd_buf bytes = {0};
    cd__fin_key *k = cd_hmap_put(&f->keys, &is_first, &s->node);
    bool is_other = is_first || memcmp(k->key, s->bytes.p, CD_MLDSA_PK) != 0;
    *k = (cd__fin_key){.number = s->number, .has_proof = true, .paced_ns = is_first ? 0 : now};
    memcpy(k->key, s->bytes.p, CD_MLDSA_PK);
    memcpy(k->proof, s->proof.p, CD_BLS_SIG_LEN);
    if (is_other) {
        f->keys_view++;
        cd__fin_stamps_forget(f, &s->node);
    }
    for (u32 i = 0; i < f->chain_cnt; i++) {
        f->chains[i]->has_news = true;
    }
    put_says(&bytes, &s->node, k);
    spread(f, cd_buf_bytes(&bytes), false);
    cd_buf_fini(&bytes);
}

cd__fin_fate cd__fin_on_key(cd_finality *f, const cd_node_id *from, const cd_fin_says *s, u64 now)
{
    const cd_bls_pk *bls = signer_of(f, &s->node);
    cd__fin_key *known = cd_hmap_get(&f->keys, &s->node);
    bool is_same = known != NULL && memcmp(known->key, s->bytes.p, CD_MLDSA_PK) == 0;
    bool is_own = known != NULL && f->cfg.mldsa_key != NULL && memcmp(&s->node, &f->cfg.self, sizeof s->node) == 0;
    if (bls == NULL) {
        return CD__FIN_LATER; /* its epoch has perhaps not begun here */
    }
    if (!is_newer(s, known)) {
        if (!is_same && known->has_proof && memcmp(from, &s->node, sizeof *from) == 0) {
            cd_buf bytes = {0}; /* its owner has forgotten */
            put_says(&bytes, &s->node, known);
            f->cfg.out.tell(f->cfg.out.ctx, from, 1, cd_buf_bytes(&bytes));
            cd_buf_fini(&bytes);
        }
        return CD__FIN_DONE;
    }
    if (known != NULL && known->paced_ns != 0 && now - known->paced_ns < (u64)PACE_MS * CD__FIN_MS) {
        return CD__FIN_LATER;
    }
    if (!is_signed(s, bls)) {
        return CD__FIN_REFUSED;
    }
    if (is_own) {
        if (s->number != UINT64_MAX) {
            known->paced_ns = now;
            outdo(f, known, is_same ? s->number - 1 : s->number); /* the same key needs no higher number */
        }
        return CD__FIN_DONE;
    }
    cd__fin_key fresh = {.number = s->number, .has_proof = true};
    memcpy(fresh.key, s->bytes.p, CD_MLDSA_PK);
    memcpy(fresh.proof, s->proof.p, CD_BLS_SIG_LEN);
    if (store_key(f, &s->node, &fresh) != CD_OK) {
        return CD__FIN_LATER;
    }
    take(f, s, now);
    return CD__FIN_DONE;
}
