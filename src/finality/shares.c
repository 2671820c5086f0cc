/* BLS: shares of every accepted block, and their sum. */
#include "finality/finality_priv.h"

#include "base/mem/mem.h"

/* Shares are believed until there are enough of them; only when their sum is wrong is each looked at. */
static u32 share_cnt(const cd__fin_block *b)
{
    return (u32)(b->shares.n / sizeof(cd__fin_share));
}

static void drop_bad(cd_finality *f, const cd_fin_span *s, cd__fin_block *b)
{
    u32 cnt = share_cnt(b);
    u32 good = 0;
    cd__fin_share *all = (cd__fin_share *)(void *)b->shares.p;
    b->weight = 0;
    for (u32 i = 0; i < cnt; i++) {
        const cd_fin_validator *v = &s->validators[all[i].index];
        cd_bls_sig sig;
        if (cd_bls_sig_dec(&sig, cd_bytes_of(all[i].sig, CD_BLS_SIG_LEN)) == CD_OK &&
            cd_bls_verify(&sig, CD_BLS_POP, cd_bytes_of(b->text, sizeof b->text), &v->bls)) {
            all[good++] = all[i];
            b->weight += v->weight;
        } else {
            f->stats.refused++;
            cd__fin_peer *p = cd_hmap_get(&f->peers, &v->node);
            if (p != NULL) {
                p->strikes++;
            }
        }
    }
    b->shares.n = good * sizeof(cd__fin_share);
}

/* Adds up all shares; false: one is no signature at all. */
static bool add_up(cd_bls_sig *sum, const cd__fin_block *b)
{
    u32 cnt = share_cnt(b);
    const cd__fin_share *all = (const cd__fin_share *)(const void *)b->shares.p;
    cd_bls_sig *sigs = cd_alloc(sizeof *sigs * cnt);
    bool good = true;
    for (u32 i = 0; good && i < cnt; i++) {
        good = cd_bls_sig_dec(&sigs[i], cd_bytes_of(all[i].sig, CD_BLS_SIG_LEN)) == CD_OK;
    }
    good = good && cd_bls_agg_sigs(sum, sigs, cnt) == CD_OK;
    cd_free(sigs);
    return good;
}

/* Makes the certificate of the shares that there are; it is verified on its way. */
static bool certify(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, u64 now)
{
    cd_bls_sig sum;
    cd_buf bytes = {0};
    cd_buf bits = {0};
    u8 aggregate[CD_BLS_SIG_LEN];
    if (!add_up(&sum, b)) {
        return false;
    }
    const cd__fin_share *all = (const cd__fin_share *)(const void *)b->shares.p;
    for (u32 i = 0; i < share_cnt(b); i++) {
        (void)cd__fin_note_bit(&bits, all[i].index);
    }
    cd_bls_sig_enc(aggregate, &sum);
    cd_fin_cert cert = {
        .type = CD_FIN_BLS,
        .signed_by = b->weight,
        .bits = cd_buf_bytes(&bits),
        .bls = cd_bytes_of(aggregate, sizeof aggregate),
    };
    bool good = cd__fin_certify(f, c, b, &cert, &bytes, now);
    cd_buf_fini(&bits);
    cd_buf_fini(&bytes);
    return good;
}

static void sum_up(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, u64 now)
{
    const cd_fin_span *s = cd__fin_span(f, b);
    if (b->is_bls || s == NULL || !cd_fin_quorum(b->weight, s->set.total) || certify(f, c, b, now)) {
        return;
    }
    drop_bad(f, s, b);
    if (cd_fin_quorum(b->weight, s->set.total)) {
        (void)certify(f, c, b, now);
    }
}

static void add(cd__fin_block *b, const cd_fin_span *s, u32 index, const u8 sig[CD_BLS_SIG_LEN])
{
    cd__fin_share share = {.index = index};
    memcpy(share.sig, sig, sizeof share.sig);
    cd_buf_put(&b->shares, cd_bytes_of(&share, sizeof share));
    b->weight += s->validators[index].weight;
}

void cd__fin_own_share(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, u64 now)
{
    cd_fin_span *s = cd__fin_span(f, b);
    u32 me = s == NULL ? 0 : cd__fin_me(f, s);
    u8 sig[CD_BLS_SIG_LEN];
    b->resend_ns = now + (u64)CD_FINALITY_RESEND_MS * CD__FIN_MS;
    if (s == NULL || me == s->set.cnt || f->cfg.signer == NULL ||
        f->cfg.signer->sign(f->cfg.signer, sig, cd_bytes_of(b->text, sizeof b->text)) != CD_OK) {
        return;
    }
    const cd_fin_says says = {
        .kind = CD_FIN_SAYS_SHARE,
        .chain = c->id,
        .msg = b->msg,
        .node = f->cfg.self,
        .bytes = cd_bytes_of(sig, sizeof sig),
    };
    cd__fin_say(f, s, &says, NULL);
    if (cd__fin_note_bit(&b->heard, me) && !b->is_bls) {
        add(b, s, me, sig);
        sum_up(f, c, b, now);
    }
}

void cd__fin_help(cd_finality *f, const cd__fin_chain *c, const cd__fin_block *b, const cd_node_id *to)
{
    cd_buf cert = {0};
    cd_buf bytes = {0};
    if (cd_finality_cert(f->cfg.kv, &cert, NULL, &c->id, &b->msg.block) == CD_OK) {
        const cd_fin_says says = {
            .kind = CD_FIN_SAYS_CERT,
            .chain = c->id,
            .msg = b->msg,
            .bytes = cd_buf_bytes(&cert),
        };
        cd_fin_says_put(&bytes, &says);
        f->cfg.out.tell(f->cfg.out.ctx, to, 1, cd_buf_bytes(&bytes));
    }
    cd_buf_fini(&cert);
    cd_buf_fini(&bytes);
}

cd__fin_fate cd__fin_on_share(cd_finality *f, cd__fin_chain *c, const cd_node_id *from, const cd_fin_says *s, u64 now)
{
    cd__fin_block *b = cd__fin_find(c, &s->msg);
    cd_fin_span *span = b == NULL ? NULL : cd__fin_span(f, b);
    if (b == NULL) {
        return CD__FIN_LATER;
    }
    u32 index = span == NULL ? 0 : cd_fin_set_find(&span->set, from);
    if (span == NULL || index == span->set.cnt || memcmp(from, &s->node, sizeof *from) != 0) {
        return CD__FIN_REFUSED;
    }
    bool is_first = cd__fin_note_bit(&b->heard, index);
    if (b->is_bls) {
        if (!is_first || now - b->bls_ns > (u64)CD_FINALITY_RESEND_MS / 2 * CD__FIN_MS) {
            cd__fin_help(f, c, b, from);
        }
    } else if (is_first) {
        add(b, span, index, s->bytes.p);
        sum_up(f, c, b, now);
    }
    return CD__FIN_DONE;
}
