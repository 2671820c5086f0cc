/* ML-DSA: everybody signs for itself, where there is no threshold signature. */
#include "finality/finality_priv.h"

static u32 stamp_cnt(const cd__fin_block *b)
{
    return (u32)(b->stamps.n / sizeof(cd__fin_stamp));
}

/* In a certificate signatures stand in the order of the set. with_late: also those by keys that are not among the
 * epoch's as it was signed. */
static void put_in_order(cd_finality *f, cd_buf *out, const cd_fin_span *s, const cd__fin_block *b, bool with_late)
{
    const cd__fin_stamp *all = (const cd__fin_stamp *)(const void *)b->stamps.p;
    for (u32 index = 0; index < s->set.cnt; index++) {
        bool is_in = cd_fin_bit(cd_buf_bytes(&b->stamped), index) && (with_late || !cd__fin_key_is_late(f, s, index));
        for (u32 i = 0; i < stamp_cnt(b) && is_in; i++) {
            if (all[i].index == index) {
                cd_buf_put(out, cd_bytes_of(s->validators[index].node.b, CD_FIN_NODE_BYTES));
                cd_buf_put(out, cd_bytes_of(all[i].sig, CD_MLDSA_SIG));
                break;
            }
        }
    }
}

static u64 late_weight(cd_finality *f, const cd_fin_span *s, const cd__fin_block *b)
{
    const cd__fin_stamp *all = (const cd__fin_stamp *)(const void *)b->stamps.p;
    u64 weight = 0;
    for (u32 i = 0; i < stamp_cnt(b); i++) {
        weight += cd__fin_key_is_late(f, s, all[i].index) ? s->validators[all[i].index].weight : 0;
    }
    return weight;
}

/* Who has followed set changes to this epoch does not know late keys: they stand in only where nothing else came for a
 * while. */
static void finish(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, const cd_fin_span *s, bool takes_late, u64 now)
{
    cd_buf bytes = {0};
    cd_buf stamps = {0};
    if (f->cfg.wants_threshold || b->is_done || !b->is_bls || !cd_fin_quorum(b->stamp_weight, s->set.total)) {
        return;
    }
    bool with_late = !cd_fin_quorum(b->stamp_weight - late_weight(f, s, b), s->set.total);
    if (!with_late || takes_late) {
        put_in_order(f, &stamps, s, b, with_late);
        cd_fin_cert cert = {.type = CD_FIN_MLDSA, .mldsa = cd_buf_bytes(&stamps)};
        (void)cd__fin_certify(f, c, b, &cert, &bytes, now);
    }
    cd_buf_fini(&stamps);
    cd_buf_fini(&bytes);
}

static void add(cd__fin_block *b, const cd_fin_span *s, u32 index, const u8 sig[CD_MLDSA_SIG])
{
    cd__fin_stamp stamp = {.index = index};
    memcpy(stamp.sig, sig, CD_MLDSA_SIG);
    cd_buf_put(&b->stamps, cd_bytes_of(&stamp, sizeof stamp));
    b->stamp_weight += s->validators[index].weight;
}

/* Signs, or says again what was signed. */
static void own_stamp(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, u64 now)
{
    cd_fin_span *s = cd__fin_span(f, b);
    u32 me = s == NULL ? 0 : cd__fin_me(f, s);
    bool takes_late = false;
    b->restamp_ns = now + (u64)CD_FINALITY_RESEND_MS * CD__FIN_MS;
    if (s == NULL || me == s->set.cnt || f->cfg.mldsa_secret == NULL || !b->is_bls) {
        return;
    }
    u8 sig[CD_MLDSA_SIG];
    static const u8 deterministic[32];
    cd_mldsa_sign(sig, f->cfg.mldsa_secret, cd_bytes_of(b->text, sizeof b->text), (cd_bytes){0}, deterministic);
    b->has_stamped = true;
    const cd_fin_says says = {
        .kind = CD_FIN_SAYS_STAMP,
        .chain = c->id,
        .msg = b->msg,
        .node = f->cfg.self,
        .bytes = cd_bytes_of(sig, sizeof sig),
    };
    cd__fin_say(f, s, &says, NULL);
    if (cd__fin_note_bit(&b->stamped, me)) {
        add(b, s, me, sig);
    } else {
        takes_late = true; /* the others have had their time */
    }
    finish(f, c, b, s, takes_late, now);
}

void cd__fin_stamps_begin(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, u64 now)
{
    if (!b->wants_stamps && !b->is_done) {
        b->wants_stamps = true;
        b->stamps_ns = now + (u64)CD_FINALITY_GIVE_UP_MS * CD__FIN_MS;
        c->pace_ns = now + (u64)CD_FINALITY_PACE_MS * CD__FIN_MS;
        own_stamp(f, c, b, now);
    }
}

u64 cd__fin_stamps_tick(cd_finality *f, cd__fin_chain *c, u64 now)
{
    u64 next = UINT64_MAX;
    for (u32 i = 0; i < c->cnt; i++) {
        cd__fin_block *b = c->blocks[i];
        if (!b->wants_stamps || b->is_done) {
            continue;
        }
        if (now >= b->stamps_ns) {
            b->wants_stamps = false;
        } else if (now >= b->restamp_ns) {
            own_stamp(f, c, b, now);
        }
        next = b->wants_stamps && !b->is_done ? cd_min_u64(next, cd_min_u64(b->stamps_ns, b->restamp_ns)) : next;
    }
    return next;
}

/* A block is stamped with others when they cannot all be wrong about it, or where nothing else is possible. */
static bool joins(cd_finality *f, const cd_fin_span *s, const cd__fin_block *b)
{
    bool has_group = f->cfg.group != NULL && f->cfg.share != NULL && s->set.cnt >= 3 &&
                     cd_finality_group_fits(f->cfg.group_nodes, &s->set);
    return !has_group || (u128)b->stamp_weight * 3 > s->set.total;
}

cd__fin_fate cd__fin_on_stamp(cd_finality *f, cd__fin_chain *c, const cd_node_id *from, const cd_fin_says *s, u64 now)
{
    cd__fin_block *b = cd__fin_find(c, &s->msg);
    if (b == NULL || (!b->is_bls && !b->is_done)) {
        return CD__FIN_LATER;
    }
    cd_fin_span *span = cd__fin_span(f, b);
    u32 index = span == NULL ? 0 : cd_fin_set_find(&span->set, from);
    if (span == NULL || index == span->set.cnt || memcmp(from, &s->node, sizeof *from) != 0) {
        return CD__FIN_REFUSED;
    }
    if (b->is_done) {
        cd__fin_help(f, c, b, from);
        return CD__FIN_DONE;
    }
    if (cd_fin_bit(cd_buf_bytes(&b->stamped), index)) {
        return CD__FIN_DONE;
    }
    const u8 *key = cd_hmap_get(&f->keys, from);
    if (key == NULL) {
        return CD__FIN_LATER;
    }
    if (!cd_mldsa_verify(key, s->bytes, cd_bytes_of(b->text, sizeof b->text), (cd_bytes){0})) {
        return CD__FIN_REFUSED;
    }
    (void)cd__fin_note_bit(&b->stamped, index);
    add(b, span, index, s->bytes.p);
    finish(f, c, b, span, false, now);
    if (!b->is_done && !b->has_stamped && joins(f, span, b)) {
        cd__fin_stamps_begin(f, c, b, now);
    }
    return CD__FIN_DONE;
}

void cd__fin_stamps_forget(cd_finality *f, const cd_node_id *node)
{
    for (u32 i = 0; i < f->chain_cnt; i++) {
        for (u32 k = 0; k < f->chains[i]->cnt; k++) {
            cd__fin_block *b = f->chains[i]->blocks[k];
            const cd_fin_span *s = cd__fin_span(f, b);
            u32 index = s == NULL ? 0 : cd_fin_set_find(&s->set, node);
            if (s == NULL || index == s->set.cnt || !cd_fin_bit(cd_buf_bytes(&b->stamped), index)) {
                continue;
            }
            b->stamped.p[index / 8] &= (u8) ~(1U << index % 8);
            cd__fin_stamp *all = (cd__fin_stamp *)(void *)b->stamps.p;
            u32 kept = 0;
            for (u32 j = 0; j < stamp_cnt(b); j++) {
                if (all[j].index != index) {
                    all[kept++] = all[j];
                }
            }
            b->stamps.n = kept * sizeof *all;
            b->stamp_weight -= s->validators[index].weight;
        }
    }
}
