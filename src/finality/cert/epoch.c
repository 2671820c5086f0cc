#include "finality/cert/epoch.h"

#include "crypto/hash/sha2.h"
#include "finality/cert/epoch_priv.h"

const cd_hash32 cd_fin_epoch_chain = {"candela/finality/set"};

/* --- the ID --- */

/* Bytes in front of the validators of an epoch's encoding, and of each. */
enum { VERSION = 0, HEAD = 2 + 4 + 8 + 8 + 32 + 4, ENTRY = CD_FIN_NODE_BYTES + 8 + CD_BLS_PK_LEN + 32 };

static void head_enc(u8 out[HEAD], const cd_fin_epoch *e)
{
    cd_put_be16(out, VERSION);
    cd_put_be32(out + 2, e->network);
    cd_put_be64(out + 6, e->number);
    cd_put_be64(out + 14, e->set.from);
    memcpy(out + 22, e->group_id.b, 32);
    cd_put_be32(out + 54, e->set.cnt);
}

static void entry_enc(u8 out[ENTRY], const cd_fin_validator *v)
{
    cd_hash32 mldsa = {0};
    if (v->mldsa != NULL) {
        cd_sha256(&mldsa, cd_bytes_of(v->mldsa, CD_MLDSA_PK));
    }
    memcpy(out, v->node.b, CD_FIN_NODE_BYTES);
    cd_put_be64(out + CD_FIN_NODE_BYTES, v->weight);
    cd_bls_pk_enc(out + CD_FIN_NODE_BYTES + 8, &v->bls);
    memcpy(out + ENTRY - 32, mldsa.b, 32);
}

void cd_fin_epoch_id(cd_hash32 *out, const cd_fin_epoch *e)
{
    cd_sha256_ctx hash;
    u8 head[HEAD];
    u8 entry[ENTRY];
    cd_sha256_init(&hash);
    head_enc(head, e);
    cd_sha256_update(&hash, cd_bytes_of(head, sizeof head));
    for (u32 i = 0; i < e->set.cnt; i++) {
        entry_enc(entry, &e->set.validators[i]);
        cd_sha256_update(&hash, cd_bytes_of(entry, sizeof entry));
    }
    cd_sha256_final(&hash, out);
}

void cd_fin_epoch_msg(cd_fin_msg *out, const cd_fin_epoch *e, u64 time_ns)
{
    cd_fin_epoch_id(&out->block, e);
    out->height = e->set.from;
    out->time_ns = time_ns;
}

/* --- files --- */

static void put_u32(cd_buf *out, usize v)
{
    cd_put_be32(cd_buf_extend(out, 4), (u32)v);
}

/* Appends the length and the bytes of the threshold key, or a length of 0. */
static void put_group(cd_buf *out, const cd_rt_key *group)
{
    put_u32(out, group != NULL ? CD__FIN_GROUP : 0);
    if (group != NULL) {
        cd_rt_key_put(out, group);
    }
}

static void put_mldsa(cd_buf *out, const cd_fin_validator *v)
{
    if (v->mldsa != NULL) {
        cd_buf_put(out, cd_bytes_of(v->mldsa, CD_MLDSA_PK));
    }
}

void cd_fin_checkpoint_put(cd_buf *out, const cd_fin_epoch *e, const cd_fin_chain *chains, u32 chain_cnt)
{
    cd_hash32 sum;
    usize begin = out->n;
    cd_buf_put(out, cd_bytes_of(CD__FIN_CHECKPOINT, CD__FIN_MAGIC));
    head_enc(cd_buf_extend(out, HEAD), e);
    for (u32 i = 0; i < e->set.cnt; i++) {
        entry_enc(cd_buf_extend(out, ENTRY), &e->set.validators[i]);
    }
    for (u32 i = 0; i < e->set.cnt; i++) {
        put_mldsa(out, &e->set.validators[i]);
    }
    put_group(out, e->set.group);
    cd_buf_u8(out, (u8)chain_cnt);
    for (u32 i = 0; i < chain_cnt; i++) {
        cd_bytes name = cd_bytes_str(chains[i].name);
        cd_buf_u8(out, (u8)name.n);
        cd_buf_put(out, name);
        cd_buf_put(out, cd_bytes_of(chains[i].id.b, 32));
    }
    cd_sha256(&sum, cd_bytes_of(out->p + begin, out->n - begin));
    cd_buf_put(out, cd_bytes_of(sum.b, 32));
}

/* --- changes --- */

static int order(const cd_fin_validator *a, const cd_fin_validator *b)
{
    return memcmp(a->node.b, b->node.b, CD_FIN_NODE_BYTES);
}

/* Says which parts of a validator a change has to give: was is NULL for a new one. */
static u8 flags_of(const cd_fin_validator *was, const cd_fin_validator *is)
{
    bool same_mldsa =
        was != NULL && was->mldsa != NULL && is->mldsa != NULL && memcmp(was->mldsa, is->mldsa, CD_MLDSA_PK) == 0;
    bool same_bls = was != NULL && memcmp(&was->bls, &is->bls, sizeof is->bls) == 0;
    u8 flags = same_bls ? 0 : CD__FIN_HAS_BLS;
    if (is->mldsa != NULL && !same_mldsa) {
        flags |= CD__FIN_HAS_MLDSA;
    } else if (is->mldsa == NULL && was != NULL && was->mldsa != NULL) {
        flags |= CD__FIN_NO_MLDSA;
    }
    return flags;
}

static void put_changed(cd_buf *out, const cd_fin_validator *v, u8 flags)
{
    cd_buf_put(out, cd_bytes_of(v->node.b, CD_FIN_NODE_BYTES));
    cd_put_be64(cd_buf_extend(out, 8), v->weight);
    cd_buf_u8(out, flags);
    if ((flags & CD__FIN_HAS_BLS) != 0) {
        cd_bls_pk_enc(cd_buf_extend(out, CD_BLS_PK_LEN), &v->bls);
    }
    if ((flags & CD__FIN_HAS_MLDSA) != 0) {
        put_mldsa(out, v);
    }
}

/* Appends the number and the nodes of base that next lacks. */
static void put_removed(cd_buf *out, const cd_fin_set *base, const cd_fin_set *next)
{
    usize cnt_at = out->n;
    u32 cnt = 0;
    put_u32(out, 0);
    for (u32 i = 0, k = 0; i < base->cnt; i++) {
        while (k < next->cnt && order(&next->validators[k], &base->validators[i]) < 0) {
            k++;
        }
        if (k == next->cnt || order(&next->validators[k], &base->validators[i]) != 0) {
            cd_buf_put(out, cd_bytes_of(base->validators[i].node.b, CD_FIN_NODE_BYTES));
            cnt++;
        }
    }
    cd_put_be32(out->p + cnt_at, cnt);
}

/* Appends the number and what is new of those validators of next that are not the same in base. */
static void put_added(cd_buf *out, const cd_fin_set *base, const cd_fin_set *next)
{
    usize cnt_at = out->n;
    u32 cnt = 0;
    put_u32(out, 0);
    for (u32 i = 0, k = 0; k < next->cnt; k++) {
        const cd_fin_validator *is = &next->validators[k];
        while (i < base->cnt && order(&base->validators[i], is) < 0) {
            i++;
        }
        bool was_there = i < base->cnt && order(&base->validators[i], is) == 0;
        const cd_fin_validator *was = was_there ? &base->validators[i] : NULL;
        u8 flags = flags_of(was, is);
        if (was == NULL || flags != 0 || was->weight != is->weight) {
            put_changed(out, is, flags);
            cnt++;
        }
    }
    cd_put_be32(out->p + cnt_at, cnt);
}

void cd_fin_changes_begin(cd_buf *out)
{
    cd_buf_put(out, cd_bytes_of(CD__FIN_CHANGES, CD__FIN_MAGIC));
}

void cd_fin_change_put(cd_buf *out, const cd_fin_epoch *base, const cd_fin_epoch *next, bool with_group, cd_bytes cert)
{
    usize length_at = out->n;
    put_u32(out, 0);
    cd_put_be64(cd_buf_extend(out, 8), base->number);
    cd_put_be64(cd_buf_extend(out, 8), next->number);
    cd_put_be64(cd_buf_extend(out, 8), next->set.from);
    cd_buf_put(out, cd_bytes_of(next->group_id.b, 32));
    put_removed(out, &base->set, &next->set);
    put_added(out, &base->set, &next->set);
    put_group(out, with_group ? next->set.group : NULL);
    cd_put_be32(out->p + length_at, (u32)(out->n - length_at - 4));
    put_u32(out, cert.n);
    cd_buf_put(out, cert);
}
