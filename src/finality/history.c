/* The history of sets: what turns leave in the store, and the lists of signed changes that are made of it.
 *
 * Signatures of an epoch are kept one by one, so that the list may pass over epochs: as long as two thirds of a set
 * have signed a later one themselves, a certificate of theirs leads there at once. */
#include "finality/finality_priv.h"

#include "base/mem/mem.h"
#include "base/rd.h"

enum { KEY_BYTES = 1 + 32 + 8, LIST_MAX = 16 << 20, MISSES_MAX = 8 };

static cd_bytes key_at(u8 key[KEY_BYTES], char table, u64 number)
{
    key[0] = (u8)table;
    memcpy(key + 1, cd_fin_epoch_chain.b, 32);
    cd_put_be64(key + 33, number);
    return cd_bytes_of(key, KEY_BYTES);
}

static cd_bytes key_of_id(u8 key[1 + 64], const u8 id[32])
{
    key[0] = 'I';
    memcpy(key + 1, cd_fin_epoch_chain.b, 32);
    memcpy(key + 33, id, 32);
    return cd_bytes_of(key, 1 + 64);
}

/* --- epochs --- */

cd_err cd__fin_get_point(cd_kv *kv, cd_buf *out, u64 number)
{
    u8 key[KEY_BYTES];
    return cd_kv_get(kv, out, key_at(key, 'S', number));
}

cd_err cd__fin_put_point(cd_kv *kv, u64 number, cd_bytes point)
{
    u8 key[KEY_BYTES];
    return cd_kv_put(kv, key_at(key, 'S', number), point);
}

cd_fin_book *cd__fin_book_of(cd_bytes point)
{
    u32 cnt = cd_fin_checkpoint_cnt(point);
    if (cnt == 0) {
        return NULL;
    }
    cd_fin_book *b = cd_fin_book_init(cd_alloc_aligned(16, cd_fin_book_bytes(cnt)), cnt);
    if (cd_fin_book_open(b, point) != CD_FLAW_NONE) {
        cd_free(b);
        return NULL;
    }
    return b;
}

/* --- signatures: M, then of each signer: node ID, u8 which, the signatures --- */

static void put_witnesses(cd_buf *out, const cd__fin_witness *all, const cd_fin_msg *msg, const cd_fin_set *set)
{
    cd_fin_msg_enc(cd_buf_extend(out, CD_FIN_MSG_BYTES), msg);
    for (u32 i = 0; i < set->cnt; i++) {
        if (all[i].has == 0) {
            continue;
        }
        cd_buf_put(out, cd_bytes_of(set->validators[i].node.b, CD_FIN_NODE_BYTES));
        cd_buf_u8(out, all[i].has);
        if ((all[i].has & CD__FIN_SIGNED_BLS) != 0) {
            cd_buf_put(out, cd_bytes_of(all[i].bls, CD_BLS_SIG_LEN));
        }
        if ((all[i].has & CD__FIN_SIGNED_MLDSA) != 0) {
            cd_buf_put(out, cd_bytes_of(all[i].mldsa, CD_MLDSA_SIG));
        }
    }
}

/* Those of the set are taken up, others passed over. */
static cd_err read_witnesses(cd__fin_witness *all, cd_fin_msg *msg, const cd_fin_set *set, cd_bytes bytes)
{
    u8 text[CD_FIN_MSG_BYTES];
    cd_rd r = cd_rd_init(bytes);
    memset(all, 0, sizeof *all * set->cnt);
    cd_rd_copy(&r, text, sizeof text);
    cd_fin_msg_dec(msg, text);
    while (r.err == CD_OK && cd_rd_left(&r) != 0) {
        cd_node_id node;
        cd__fin_witness one;
        cd_rd_copy(&r, node.b, sizeof node.b);
        one.has = cd_rd_u8(&r);
        if ((one.has & CD__FIN_SIGNED_BLS) != 0) {
            cd_rd_copy(&r, one.bls, CD_BLS_SIG_LEN);
        }
        if ((one.has & CD__FIN_SIGNED_MLDSA) != 0) {
            cd_rd_copy(&r, one.mldsa, CD_MLDSA_SIG);
        }
        u32 i = r.err == CD_OK ? cd_fin_set_find(set, &node) : set->cnt;
        if (i != set->cnt) {
            all[i] = one;
        }
    }
    return r.err == CD_OK ? CD_OK : CD_ECORRUPT;
}

cd_err cd__fin_get_witnesses(cd_kv *kv, cd__fin_witness *all, cd_fin_msg *msg, const cd_fin_set *set, u64 number)
{
    u8 key[KEY_BYTES];
    cd_buf bytes = {0};
    cd_err e = cd_kv_get(kv, &bytes, key_at(key, 'V', number));
    e = e == CD_OK ? read_witnesses(all, msg, set, cd_buf_bytes(&bytes)) : e;
    cd_buf_fini(&bytes);
    return e;
}

bool cd__fin_put_witnesses(cd_kv *kv, const cd__fin_witness *all, const cd_fin_msg *msg, const cd_fin_set *set,
                           u64 number)
{
    u8 key[KEY_BYTES];
    cd_buf bytes = {0};
    put_witnesses(&bytes, all, msg, set);
    cd_err e = cd_kv_put(kv, key_at(key, 'V', number), cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
    return e == CD_OK;
}

static void weigh(u64 *bls, u64 *mldsa, const cd_fin_set *set, const cd__fin_witness *all)
{
    *bls = 0;
    *mldsa = 0;
    for (u32 i = 0; i < set->cnt; i++) {
        *bls += (all[i].has & CD__FIN_SIGNED_BLS) != 0 ? set->validators[i].weight : 0;
        *mldsa += (all[i].has & CD__FIN_SIGNED_MLDSA) != 0 ? set->validators[i].weight : 0;
    }
}

void cd__fin_witness_cert(cd_buf *out, const cd_fin_set *set, const cd_fin_msg *msg, const cd__fin_witness *all,
                          bool by_mldsa)
{
    cd_buf bits = {0};
    cd_buf stamps = {0};
    u8 aggregate[CD_BLS_SIG_LEN] = {0};
    cd_bls_sig sum;
    cd_bls_sig *sigs = cd_alloc(sizeof *sigs * set->cnt);
    usize cnt = 0;
    u64 signed_by = 0;
    u64 stamped = 0;
    for (u32 i = 0; i < set->cnt; i++) {
        if ((all[i].has & CD__FIN_SIGNED_BLS) != 0 &&
            cd_bls_sig_dec(&sigs[cnt], cd_bytes_of(all[i].bls, CD_BLS_SIG_LEN)) == CD_OK) {
            (void)cd__fin_note_bit(&bits, i);
            signed_by += set->validators[i].weight;
            cnt++;
        }
        if (by_mldsa && (all[i].has & CD__FIN_SIGNED_MLDSA) != 0 && !cd_fin_quorum(stamped, set->total)) {
            stamped += set->validators[i].weight; /* as many as are needed: they are large */
            cd_buf_put(&stamps, cd_bytes_of(set->validators[i].node.b, CD_FIN_NODE_BYTES));
            cd_buf_put(&stamps, cd_bytes_of(all[i].mldsa, CD_MLDSA_SIG));
        }
    }
    if (cd_bls_agg_sigs(&sum, sigs, cnt) == CD_OK) {
        cd_bls_sig_enc(aggregate, &sum);
    }
    const cd_fin_cert cert = {.type = by_mldsa ? CD_FIN_MLDSA : CD_FIN_BLS,
                              .chain = cd_fin_epoch_chain,
                              .msg = *msg,
                              .total = set->total,
                              .signed_by = signed_by,
                              .bits = cd_buf_bytes(&bits),
                              .bls = cd_bytes_of(aggregate, sizeof aggregate),
                              .mldsa = cd_buf_bytes(&stamps)};
    cd_fin_cert_put(out, &cert);
    cd_free(sigs);
    cd_buf_fini(&bits);
    cd_buf_fini(&stamps);
}

/* --- keeping --- */

bool cd__fin_put_turned(cd_kv *kv, const cd__fin_turned *t)
{
    u8 key[KEY_BYTES];
    u8 id[1 + 64];
    u8 number[8];
    cd_kv_batch batch;
    cd_buf was = {0};
    cd_buf witnesses = {0};
    memset(&batch, 0, sizeof batch);
    cd_kv_batch_for(&batch, kv);
    if (cd_finality_cert_at(kv, &was, &cd_fin_epoch_chain, t->number) == CD_OK && was.n >= 67) {
        cd_kv_batch_del(&batch, key_of_id(id, was.p + 35)); /* another view of the epoch */
    }
    put_witnesses(&witnesses, t->all, t->msg, t->set);
    cd_put_be64(number, t->number);
    cd_kv_batch_put(&batch, key_of_id(id, t->msg->block.b), cd_bytes_of(number, sizeof number));
    cd_kv_batch_put(&batch, key_at(key, 'C', t->number), t->cert);
    cd_kv_batch_put(&batch, key_at(key, 'S', t->number), t->point);
    cd_kv_batch_put(&batch, key_at(key, 'V', t->number), cd_buf_bytes(&witnesses));
    if (t->number >= CD_FINALITY_TURNS_KEPT) {
        u64 old = t->number - CD_FINALITY_TURNS_KEPT;
        if (cd_finality_cert_at(kv, &was, &cd_fin_epoch_chain, old) == CD_OK && was.n >= 67) {
            cd_kv_batch_del(&batch, key_of_id(id, was.p + 35));
        }
        cd_kv_batch_del(&batch, key_at(key, 'C', old));
        cd_kv_batch_del(&batch, key_at(key, 'S', old));
        cd_kv_batch_del(&batch, key_at(key, 'V', old));
    }
    bool is_in = cd_kv_commit(kv, &batch, CD_KV_NOSYNC, NULL) == CD_OK;
    cd_kv_batch_fini(&batch);
    cd_buf_fini(&witnesses);
    cd_buf_fini(&was);
    return is_in;
}

/* --- lists of changes --- */

/* The epoch that the set leads to at once: the last one that two thirds of it have signed in both ways. 0: none. */
static u64 farthest(cd_kv *kv, const cd_fin_book *now, cd__fin_witness *all)
{
    u64 found = 0;
    u32 misses = 0;
    u64 bls;
    u64 mldsa;
    cd_fin_msg msg;
    const cd_fin_set *set = &now->epoch.set;
    for (u64 n = now->epoch.number + 1; misses < MISSES_MAX; n++) {
        bool leads = cd__fin_get_witnesses(kv, all, &msg, set, n) == CD_OK;
        weigh(&bls, &mldsa, set, all);
        leads = leads && cd_fin_quorum(bls, set->total) && cd_fin_quorum(mldsa, set->total);
        found = leads ? n : found;
        misses = leads ? 0 : misses + 1;
    }
    return found;
}

/* The certificate that leads from the set to that epoch; false: there is none. */
static bool lead(cd_kv *kv, cd_buf *cert, cd_fin_book *now, u64 number, cd__fin_witness *all)
{
    cd_fin_cert read;
    cd_fin_msg msg;
    cd_buf_clear(cert);
    if (cd__fin_get_witnesses(kv, all, &msg, &now->epoch.set, number) != CD_OK) {
        return false;
    }
    cd__fin_witness_cert(cert, &now->epoch.set, &msg, all, true);
    return cd_fin_book_verify(now, &read, cd_buf_bytes(cert), &cd_fin_epoch_chain) == CD_FLAW_NONE;
}

/* The change as it is written. The first one names all ML-DSA keys, since those that the reader knows of its epoch may
 * be others. */
static void put_change(cd_buf *out, const cd_fin_book *now, const cd_fin_book *next, const cd_rt_key *group,
                       cd_bytes cert, bool is_first)
{
    static const u8 none[CD_MLDSA_PK];
    const cd_fin_set *set = &now->epoch.set;
    cd_fin_epoch from = now->epoch;
    cd_fin_epoch to = next->epoch;
    cd_hash32 id;
    cd_fin_validator *v = cd_alloc(sizeof *v * set->cnt);
    memcpy(v, set->validators, sizeof *v * set->cnt);
    for (u32 i = 0; is_first && i < set->cnt; i++) {
        v[i].mldsa = none;
    }
    from.set.validators = v;
    bool with_group = group != NULL && !cd_hash32_eq(&to.group_id, &from.group_id);
    if (with_group) {
        cd_rt_key_id(&id, group);
        with_group = cd_hash32_eq(&id, &to.group_id);
        to.set.group = with_group ? group : NULL;
    }
    cd_fin_change_put(out, &from, &to, with_group, cert);
    cd_free(v);
}

/* Takes one step; false: there is no further one. */
static bool step(cd_kv *kv, cd_buf *out, cd_fin_book **now, const cd_rt_key *group, bool is_first)
{
    cd_buf cert = {0};
    cd_buf point = {0};
    cd__fin_witness *all = cd_alloc(sizeof *all * (*now)->epoch.set.cnt);
    u64 number = farthest(kv, *now, all);
    bool leads = number != 0 && lead(kv, &cert, *now, number, all);
    if (!leads) {
        number = (*now)->epoch.number + 1;
        leads = cd_finality_cert_at(kv, &cert, &cd_fin_epoch_chain, number) == CD_OK;
    }
    leads = leads && cd__fin_get_point(kv, &point, number) == CD_OK;
    cd_fin_book *next = leads ? cd__fin_book_of(cd_buf_bytes(&point)) : NULL;
    if (next != NULL) {
        put_change(out, *now, next, group, cd_buf_bytes(&cert), is_first);
        cd_free(*now);
        *now = next;
    }
    cd_free(all);
    cd_buf_fini(&cert);
    cd_buf_fini(&point);
    return next != NULL;
}

cd_err cd_finality_changes(cd_kv *kv, cd_buf *out, u64 from, const cd_rt_key *group)
{
    cd_buf point = {0};
    cd_err e = cd__fin_get_point(kv, &point, from);
    cd_fin_book *now = e == CD_OK ? cd__fin_book_of(cd_buf_bytes(&point)) : NULL;
    e = e == CD_OK && now == NULL ? CD_ECORRUPT : e;
    if (e == CD_OK) {
        bool is_first = true;
        cd_fin_changes_begin(out);
        while (out->n < LIST_MAX && step(kv, out, &now, group, is_first)) {
            is_first = false;
        }
    }
    cd_free(now);
    cd_buf_fini(&point);
    return e;
}
