#include "finality/finality.h"

#include "base/mem/mem.h"
#include "finality/messages.h"

#include <stdlib.h>

enum { TOLD_CNT = 512, ANNOUNCE_S = 300 };

/* What one validator has said of a block. */
typedef enum word {
    SILENT,
    SAID, /* not looked at yet, or good */
    LIED,
} word;

/* Signatures of one kind for a block, at most one of each validator. */
typedef struct votes {
    u8 *words;   /* a word for each validator of the set */
    cd_buf list; /* index as u32, then the signature, each of size bytes */
    usize size;
    u64 weight; /* of those in the list */
} votes;

/* A block on its way to be final. */
typedef struct open_block {
    cd_fin_block b;
    u64 era;
    u32 cnt; /* validators of the set */
    bool is_checkpoint;
    bool has_bls;
    u64 accepted_ns;
    u64 since_ns;
    u64 resend_ns;
    votes shares;
    votes stamps;
    cd_buf bls; /* the aggregate, and the bits of its signers behind it */
    u64 signed_by;
} open_block;

/* Words for a block that is not here yet. */
typedef struct early {
    cd_node_id from;
    cd_hash32 block;
    cd_bytes message; /* own */
} early;

/* Blocks of one chain, oldest first. */
typedef struct chain {
    cd_hash32 id;
    open_block *v[CD_FIN_OPEN_MAX];
    usize cnt;
} chain;

struct cd_fin {
    cd_fin_cfg cfg;
    chain chains[CD_FIN_CHAINS];
    usize chain_cnt;
    early *early;
    usize early_cnt;
    usize early_cap;
    usize early_bytes;
    u64 told[TOLD_CNT]; /* to whom of which block a certificate was sent lately */
    usize told_at;
    u64 announce_ns;
    cd_fin_counts counts;
};

cd_fin *cd_fin_new(const cd_fin_cfg *cfg)
{
    cd_fin *f = cd_new(cd_fin);
    f->cfg = *cfg;
    if (cfg->mldsa_pk != NULL) {
        (void)cd_fin_epochs_announce(cfg->epochs, &cfg->self, cfg->mldsa_pk);
    }
    return f;
}

/* --- open blocks --- */

static void votes_init(votes *v, u32 cnt, usize sig)
{
    *v = (votes){.words = cd_alloc(cnt), .size = 4 + sig};
    memset(v->words, SILENT, cnt);
}

static void votes_fini(votes *v)
{
    cd_free(v->words);
    cd_buf_fini(&v->list);
}

static void block_free(open_block *o)
{
    votes_fini(&o->shares);
    votes_fini(&o->stamps);
    cd_buf_fini(&o->bls);
    cd_free(o);
}

void cd_fin_free(cd_fin *f)
{
    if (f == NULL) {
        return;
    }
    for (usize i = 0; i < f->chain_cnt; i++) {
        for (usize k = 0; k < f->chains[i].cnt; k++) {
            block_free(f->chains[i].v[k]);
        }
    }
    for (usize i = 0; i < f->early_cnt; i++) {
        cd_free((void *)(uintptr_t)f->early[i].message.p);
    }
    cd_free(f->early);
    cd_free(f);
}

static chain *chain_find(cd_fin *f, const cd_hash32 *id)
{
    for (usize i = 0; i < f->chain_cnt; i++) {
        if (cd_hash32_eq(&f->chains[i].id, id)) {
            return &f->chains[i];
        }
    }
    return NULL;
}

static chain *chain_of(cd_fin *f, const cd_hash32 *id)
{
    chain *c = chain_find(f, id);
    if (c == NULL && f->chain_cnt < CD_FIN_CHAINS) {
        c = &f->chains[f->chain_cnt++];
        c->id = *id;
    }
    return c;
}

static open_block *block_find(const chain *c, const cd_hash32 *block)
{
    for (usize i = 0; i < c->cnt; i++) {
        if (cd_hash32_eq(&c->v[i]->b.m.block, block)) {
            return c->v[i];
        }
    }
    return NULL;
}

static void block_end(cd_fin *f, chain *c, const open_block *o)
{
    usize i = 0;
    while (c->v[i] != o) {
        i++;
    }
    block_free(c->v[i]);
    memmove(&c->v[i], &c->v[i + 1], (c->cnt - i - 1) * sizeof(c->v[0]));
    c->cnt--;
    f->counts.open--;
}

/* --- sets --- */

static bool era_of(cd_fin *f, cd_fin_era *era, const open_block *o)
{
    return cd_fin_epochs_at(f->cfg.epochs, era, o->b.m.height) == CD_OK && era->number == o->era &&
           era->set->cnt == o->cnt;
}

static bool place_of(const cd_fin_set *set, const cd_node_id *node, u32 *place)
{
    u32 low = 0;
    u32 high = set->cnt;
    while (low < high) {
        u32 mid = low + (high - low) / 2;
        int order = memcmp(set->validators[mid].node.b, node->b, sizeof node->b);
        if (order == 0) {
            *place = mid;
            return true;
        }
        low = order < 0 ? mid + 1 : low;
        high = order < 0 ? high : mid;
    }
    return false;
}

/* --- words --- */

static cd_bytes entry_of(const votes *v, usize i)
{
    return cd_bytes_of(v->list.p + i * v->size, v->size);
}

static usize votes_cnt(const votes *v)
{
    return v->list.n / v->size;
}

static void add(votes *v, const cd_fin_set *set, u32 place, cd_bytes sig)
{
    v->words[place] = SAID;
    cd_put_be32(cd_buf_extend(&v->list, 4), place);
    cd_buf_put(&v->list, sig);
    v->weight += set->validators[place].weight;
}

/* Takes out what entry i says; its validator has lied. */
static void strike(cd_fin *f, votes *v, const cd_fin_set *set, usize i)
{
    u32 place = cd_be32(v->list.p + i * v->size);
    v->words[place] = LIED;
    v->weight -= set->validators[place].weight;
    memmove(v->list.p + i * v->size, v->list.p + (i + 1) * v->size, v->list.n - (i + 1) * v->size);
    v->list.n -= v->size;
    f->counts.refused++;
}

static cd_bytes text_of(u8 out[CD_FIN_MSG_BYTES], const open_block *o)
{
    cd_fin_msg_enc(out, &o->b.m);
    return cd_bytes_of(out, CD_FIN_MSG_BYTES);
}

/* --- speaking --- */

static void say(cd_fin *f, const open_block *o, cd_fin_kind kind, cd_bytes sig)
{
    cd_buf out = {0};
    const cd_fin_message m = {.kind = kind, .chain = o->b.chain, .m = o->b.m, .node = f->cfg.self, .sig = sig};
    cd_fin_message_put(&out, &m);
    f->cfg.out.gossip(f->cfg.out.ctx, cd_buf_bytes(&out));
    cd_buf_fini(&out);
}

static void say_own(cd_fin *f, const open_block *o, const cd_fin_set *set, cd_fin_kind kind)
{
    const votes *v = kind == CD_FIN_SHARE ? &o->shares : &o->stamps;
    u32 place;
    if (!place_of(set, &f->cfg.self, &place)) {
        return;
    }
    for (usize i = 0; i < votes_cnt(v); i++) {
        cd_bytes entry = entry_of(v, i);
        if (cd_be32(entry.p) == place) {
            say(f, o, kind, cd_bytes_sub(entry, 4, entry.n - 4));
        }
    }
}

static u64 told_key(const cd_node_id *node, const cd_hash32 *block)
{
    u64 a;
    u64 b;
    memcpy(&a, node->b, sizeof a);
    memcpy(&b, block->b, sizeof b);
    return a ^ b;
}

/* Gives a node that still collects what is there already, once; true: it is there. */
static bool help(cd_fin *f, const cd_node_id *node, const cd_fin_message *m)
{
    u64 key = told_key(node, &m->m.block);
    cd_buf cert = {0};
    cd_buf out = {0};
    cd_fin_cert parsed;
    for (usize i = 0; i < TOLD_CNT; i++) {
        if (f->told[i] == key) {
            return true;
        }
    }
    bool is_here = cd_fin_store_get(f->cfg.store, &cert, &m->chain, &m->m.block) == CD_OK &&
                   cd_fin_cert_parse(&parsed, cd_buf_bytes(&cert)) == CD_FLAW_NONE &&
                   (m->kind == CD_FIN_SHARE || cd_fin_is_final(parsed.type));
    if (is_here && m->kind != CD_FIN_CERT) {
        const cd_fin_message answer = {
            .kind = CD_FIN_CERT, .chain = m->chain, .m = parsed.msg, .cert = cd_buf_bytes(&cert)};
        cd_fin_message_put(&out, &answer);
        f->cfg.out.tell(f->cfg.out.ctx, node, cd_buf_bytes(&out));
        f->told[f->told_at] = key;
        f->told_at = (f->told_at + 1) % TOLD_CNT;
    }
    cd_buf_fini(&out);
    cd_buf_fini(&cert);
    return is_here;
}

static void announce(cd_fin *f, const cd_node_id *to)
{
    cd_buf text = {0};
    cd_buf out = {0};
    u8 sig[CD_BLS_SIG_LEN];
    if (f->cfg.signer == NULL || f->cfg.mldsa_pk == NULL) {
        return;
    }
    cd_bytes key = cd_bytes_of(f->cfg.mldsa_pk, CD_MLDSA_PK);
    cd_fin_announce_text(&text, &f->cfg.self, key);
    if (f->cfg.signer->sign(f->cfg.signer, sig, cd_buf_bytes(&text)) == CD_OK) {
        const cd_fin_message m = {
            .kind = CD_FIN_ANNOUNCE, .node = f->cfg.self, .key = key, .sig = cd_bytes_of(sig, sizeof sig)};
        cd_fin_message_put(&out, &m);
        if (to == NULL) {
            f->cfg.out.gossip(f->cfg.out.ctx, cd_buf_bytes(&out));
        } else {
            f->cfg.out.tell(f->cfg.out.ctx, to, cd_buf_bytes(&out));
        }
    }
    cd_buf_fini(&out);
    cd_buf_fini(&text);
}

/* --- certificates --- */

static void publish(cd_fin *f, const open_block *o, cd_fin_type type, cd_bytes cert)
{
    cd_errinfo why = {0};
    const cd_fin_news news = {
        .chain = o->b.chain, .mark = {.block = o->b.m.block, .height = o->b.height, .type = type}, .cert = cert};
    if (cd_fin_store_put(f->cfg.store, &news.chain, &news.mark, cert, &why) != CD_OK) {
        cd_log_warn(f->cfg.log, "a certificate is not kept", CD_F("reason", why.msg));
    }
    f->counts.by_bls += type == CD_FIN_BLS;
    f->counts.final += cd_fin_is_final(type);
    f->cfg.out.certified(f->cfg.out.ctx, &news);
}

static cd_fin_cert cert_of(const open_block *o, const cd_fin_set *set, cd_fin_type type)
{
    return (cd_fin_cert){.type = type,
                         .chain = o->b.chain,
                         .msg = o->b.m,
                         .total = set->total,
                         .signed_by = o->signed_by,
                         .bls = cd_bytes_of(o->bls.p, CD_BLS_SIG_LEN),
                         .bits = cd_bytes_of(o->bls.p + CD_BLS_SIG_LEN, o->bls.n - CD_BLS_SIG_LEN)};
}

/* Two thirds have signed by BLS. */
static void have_bls(cd_fin *f, open_block *o, const cd_fin_set *set, cd_bytes sig, cd_bytes bits, u64 weight)
{
    cd_buf out = {0};
    cd_buf_clear(&o->bls);
    cd_buf_put(&o->bls, sig);
    cd_buf_put(&o->bls, bits);
    o->signed_by = weight;
    o->has_bls = true;
    const cd_fin_cert cert = cert_of(o, set, CD_FIN_BLS);
    cd_fin_cert_put(&out, &cert);
    publish(f, o, CD_FIN_BLS, cd_buf_bytes(&out));
    cd_buf_fini(&out);
}

/* Strikes out shares that are wrong by themselves. */
static void check_each(cd_fin *f, open_block *o, const cd_fin_set *set)
{
    u8 m[CD_FIN_MSG_BYTES];
    cd_bytes text = text_of(m, o);
    for (usize i = votes_cnt(&o->shares); i-- > 0;) {
        cd_bytes entry = entry_of(&o->shares, i);
        cd_bls_sig sig;
        if (cd_bls_sig_dec(&sig, cd_bytes_sub(entry, 4, CD_BLS_SIG_LEN)) != CD_OK ||
            !cd_bls_verify(&sig, CD_BLS_POP, text, &set->validators[cd_be32(entry.p)].bls)) {
            strike(f, &o->shares, set, i);
        }
    }
}

/* Adds the shares up and checks the sum; false: some of them are wrong. */
static bool aggregate(open_block *o, const cd_fin_set *set, cd_bls_sig *out, u8 *bits)
{
    u8 m[CD_FIN_MSG_BYTES];
    usize cnt = votes_cnt(&o->shares);
    cd_bls_sig *sigs = cd_alloc(cnt * sizeof *sigs);
    cd_bls_pk *keys = cd_alloc(cnt * sizeof *keys);
    bool ok = true;
    for (usize i = 0; ok && i < cnt; i++) {
        cd_bytes entry = entry_of(&o->shares, i);
        u32 place = cd_be32(entry.p);
        ok = cd_bls_sig_dec(&sigs[i], cd_bytes_sub(entry, 4, CD_BLS_SIG_LEN)) == CD_OK;
        keys[i] = set->validators[place].bls;
        bits[place / 8] |= (u8)(1 << place % 8);
    }
    ok = ok && cd_bls_agg_sigs(out, sigs, cnt) == CD_OK && cd_bls_fast_agg_verify(out, text_of(m, o), keys, cnt);
    cd_free(sigs);
    cd_free(keys);
    return ok;
}

static void try_bls(cd_fin *f, open_block *o, const cd_fin_set *set)
{
    usize n = ((usize)o->cnt + 7) / 8;
    u8 *bits = cd_alloc(n);
    u8 enc[CD_BLS_SIG_LEN];
    cd_bls_sig sum;
    while (!o->has_bls && cd_fin_quorum(o->shares.weight, set->total)) {
        memset(bits, 0, n);
        if (aggregate(o, set, &sum, bits)) {
            cd_bls_sig_enc(enc, &sum);
            usize used = n;
            while (used != 0 && bits[used - 1] == 0) {
                used--;
            }
            have_bls(f, o, set, cd_bytes_of(enc, sizeof enc), cd_bytes_of(bits, used), o->shares.weight);
        } else {
            check_each(f, o, set);
        }
    }
    cd_free(bits);
}

static int by_place(const void *a, const void *b)
{
    return memcmp(a, b, 4); /* big-endian */
}

/* Two thirds have stamped it as well: the block is final. */
static bool try_stamps(cd_fin *f, open_block *o, const cd_fin_set *set)
{
    cd_buf list = {0};
    cd_buf out = {0};
    if (!o->has_bls || !cd_fin_quorum(o->stamps.weight, set->total)) {
        return false;
    }
    usize cnt = votes_cnt(&o->stamps);
    qsort(o->stamps.list.p, cnt, o->stamps.size, by_place);
    for (usize i = 0; i < cnt; i++) {
        cd_bytes entry = entry_of(&o->stamps, i);
        cd_buf_put(&list, cd_bytes_of(set->validators[cd_be32(entry.p)].node.b, CD_FIN_NODE_BYTES));
        cd_buf_put(&list, cd_bytes_sub(entry, 4, CD_MLDSA_SIG));
    }
    cd_fin_cert cert = cert_of(o, set, CD_FIN_MLDSA);
    cert.mldsa = cd_buf_bytes(&list);
    cd_fin_cert_put(&out, &cert);
    publish(f, o, CD_FIN_MLDSA, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    cd_buf_fini(&list);
    return true;
}

/* --- this node's own words --- */

static void sign_share(cd_fin *f, open_block *o, const cd_fin_set *set)
{
    u8 m[CD_FIN_MSG_BYTES];
    u8 sig[CD_BLS_SIG_LEN];
    u32 place;
    if (f->cfg.signer != NULL && place_of(set, &f->cfg.self, &place) &&
        f->cfg.signer->sign(f->cfg.signer, sig, text_of(m, o)) == CD_OK) {
        add(&o->shares, set, place, cd_bytes_of(sig, sizeof sig));
        say(f, o, CD_FIN_SHARE, cd_bytes_of(sig, sizeof sig));
    }
}

/* The deterministic variant: a block that is stamped again, after a restart, has the same stamp. */
static void sign_stamp(cd_fin *f, open_block *o, const cd_fin_set *set)
{
    static const u8 none[32];
    u8 m[CD_FIN_MSG_BYTES];
    u8 sig[CD_MLDSA_SIG];
    u32 place;
    if (f->cfg.mldsa_sk == NULL || !place_of(set, &f->cfg.self, &place) || o->stamps.words[place] != SILENT) {
        return;
    }
    const u8 *known = set->validators[place].mldsa; /* what others compare with */
    const u8 *own = f->cfg.mldsa_pk;
    if (known != NULL && own != NULL && memcmp(known, own, CD_MLDSA_PK) == 0) {
        cd_mldsa_sign(sig, f->cfg.mldsa_sk, text_of(m, o), (cd_bytes){0}, none);
        add(&o->stamps, set, place, cd_bytes_of(sig, sizeof sig));
        say(f, o, CD_FIN_STAMP, cd_bytes_of(sig, sizeof sig));
    }
}

static bool is_last(const chain *c, const open_block *o)
{
    return c->v[c->cnt - 1] == o;
}

/* Does all that a block is ready for; true: it is done with. The last block of a chain is kept until it has a child. */
static bool go_on(cd_fin *f, const chain *c, open_block *o, const cd_fin_set *set, u64 now_ns)
{
    bool had = o->has_bls;
    try_bls(f, o, set);
    if (!o->has_bls) {
        return false;
    }
    if (!had) {
        o->since_ns = now_ns;
        o->resend_ns = now_ns + CD_FIN_RESEND_S * CD_NS_PER_SEC;
    }
    if (!had && o->is_checkpoint) {
        sign_stamp(f, o, set);
    }
    return try_stamps(f, o, set) || (!o->is_checkpoint && !is_last(c, o));
}

/* --- hearing --- */

static bool is_right_stamp(const open_block *o, const cd_fin_validator *v, cd_bytes sig)
{
    u8 m[CD_FIN_MSG_BYTES];
    return cd_mldsa_verify(v->mldsa, sig, text_of(m, o), (cd_bytes){0});
}

static bool hear_share(cd_fin *f, chain *c, open_block *o, const cd_fin_message *m, u64 now_ns)
{
    cd_fin_era era;
    u32 place;
    const cd_fin_msg *own = &o->b.m;
    if (!era_of(f, &era, o)) {
        return true;
    }
    if (!place_of(era.set, &m->node, &place) || m->m.height != own->height || m->m.time_ns != own->time_ns) {
        return false;
    }
    votes *v = m->kind == CD_FIN_SHARE ? &o->shares : &o->stamps;
    if (m->kind == CD_FIN_SHARE && o->has_bls) {
        (void)help(f, &m->node, m);
        return true;
    }
    if (v->words[place] != SILENT) {
        return v->words[place] == SAID;
    }
    if (m->kind == CD_FIN_STAMP) {
        if (era.set->validators[place].mldsa == NULL) {
            return true; /* its key may come later */
        }
        if (!is_right_stamp(o, &era.set->validators[place], m->sig)) {
            v->words[place] = LIED;
            return false;
        }
    }
    add(v, era.set, place, m->sig);
    f->counts.shares++;
    if (go_on(f, c, o, era.set, now_ns)) {
        block_end(f, c, o);
    }
    return true;
}

/* A certificate that somebody else has put together. */
static bool hear_cert(cd_fin *f, chain *c, open_block *o, const cd_fin_message *m, u64 now_ns)
{
    cd_fin_era era;
    cd_fin_cert cert;
    cd_fin_room *room = cd_new(cd_fin_room);
    bool is_good = era_of(f, &era, o) && cd_fin_cert_parse(&cert, m->cert) == CD_FLAW_NONE &&
                   cd_hash32_eq(&cert.msg.block, &o->b.m.block) && cert.msg.height == o->b.m.height &&
                   cert.msg.time_ns == o->b.m.time_ns;
    bool is_new = is_good && (cert.type == CD_FIN_BLS ? !o->has_bls : cd_fin_is_final(cert.type));
    is_good = is_good && (!is_new || cd_fin_verify(&cert, era.set, &o->b.chain, room) == CD_FLAW_NONE);
    cd_free(room);
    if (!is_good || !is_new) {
        return is_good;
    }
    if (!o->has_bls) {
        have_bls(f, o, era.set, cert.bls, cert.bits, cert.signed_by);
    }
    if (cd_fin_is_final(cert.type)) {
        publish(f, o, cert.type, m->cert);
        block_end(f, c, o);
        return true;
    }
    o->since_ns = now_ns;
    if (o->is_checkpoint) {
        sign_stamp(f, o, era.set);
    }
    if (try_stamps(f, o, era.set) || (!o->is_checkpoint && !is_last(c, o))) {
        block_end(f, c, o);
    }
    return true;
}

static bool hear_key(cd_fin *f, const cd_fin_message *m)
{
    cd_fin_era era;
    cd_bls_sig sig;
    cd_buf text = {0};
    u32 place;
    if (cd_fin_epochs_at(f->cfg.epochs, &era, UINT64_MAX) != CD_OK || !place_of(era.set, &m->node, &place)) {
        return true; /* it may come to validate */
    }
    const cd_fin_validator *v = &era.set->validators[place];
    if (v->mldsa != NULL && memcmp(v->mldsa, m->key.p, CD_MLDSA_PK) == 0) {
        return true;
    }
    cd_fin_announce_text(&text, &m->node, m->key);
    bool is_right =
        cd_bls_sig_dec(&sig, m->sig) == CD_OK && cd_bls_verify(&sig, CD_BLS_POP, cd_buf_bytes(&text), &v->bls);
    cd_buf_fini(&text);
    if (is_right) {
        (void)cd_fin_epochs_announce(f->cfg.epochs, &m->node, m->key.p);
    }
    return is_right;
}

/* --- words that come before their block --- */

static usize early_of(const cd_fin *f, const cd_node_id *from)
{
    usize n = 0;
    for (usize i = 0; i < f->early_cnt; i++) {
        n += memcmp(f->early[i].from.b, from->b, sizeof from->b) == 0;
    }
    return n;
}

static void early_drop(cd_fin *f, usize i)
{
    f->early_bytes -= f->early[i].message.n;
    cd_free((void *)(uintptr_t)f->early[i].message.p);
    memmove(&f->early[i], &f->early[i + 1], (f->early_cnt - i - 1) * sizeof f->early[0]);
    f->early_cnt--;
}

/* Keeps a validator's word for a while; its oldest goes when there are too many of it. */
static void keep_early(cd_fin *f, const cd_node_id *from, const cd_fin_message *m, cd_bytes message)
{
    cd_fin_era era;
    u32 place;
    if (m->kind == CD_FIN_CERT || cd_fin_epochs_at(f->cfg.epochs, &era, UINT64_MAX) != CD_OK ||
        !place_of(era.set, from, &place) || f->early_bytes + message.n > CD_FIN_EARLY_BYTES) {
        return;
    }
    if (early_of(f, from) >= CD_FIN_EARLY_MAX) {
        usize i = 0;
        while (memcmp(f->early[i].from.b, from->b, sizeof from->b) != 0) {
            i++;
        }
        early_drop(f, i);
    }
    if (f->early_cnt == f->early_cap) {
        f->early_cap = f->early_cap == 0 ? CD_FIN_EARLY_MAX : 2 * f->early_cap;
        f->early = cd_realloc(f->early, f->early_cap * sizeof *f->early);
    }
    u8 *copy = cd_alloc(message.n);
    memcpy(copy, message.p, message.n);
    f->early[f->early_cnt++] = (early){.from = *from, .block = m->m.block, .message = cd_bytes_of(copy, message.n)};
    f->early_bytes += message.n;
}

static void take_early(cd_fin *f, const cd_hash32 *block, u64 now_ns)
{
    for (usize i = 0; i < f->early_cnt;) {
        if (!cd_hash32_eq(&f->early[i].block, block)) {
            i++;
            continue;
        }
        early e = f->early[i];
        f->early_bytes -= e.message.n;
        memmove(&f->early[i], &f->early[i + 1], (f->early_cnt - i - 1) * sizeof f->early[0]);
        f->early_cnt--;
        (void)cd_fin_hear(f, &e.from, e.message, now_ns);
        cd_free((void *)(uintptr_t)e.message.p);
    }
}

static bool hear(cd_fin *f, const cd_node_id *from, const cd_fin_message *m, cd_bytes message, u64 now_ns)
{
    if (m->kind == CD_FIN_ANNOUNCE) {
        return hear_key(f, m);
    }
    if (m->kind != CD_FIN_CERT && memcmp(m->node.b, from->b, sizeof from->b) != 0) {
        return false; /* each speaks for itself, so that nobody can take another's word */
    }
    chain *c = chain_find(f, &m->chain);
    open_block *o = c == NULL ? NULL : block_find(c, &m->m.block);
    if (o != NULL) {
        return m->kind == CD_FIN_CERT ? hear_cert(f, c, o, m, now_ns) : hear_share(f, c, o, m, now_ns);
    }
    if (!help(f, from, m)) {
        keep_early(f, from, m, message);
    }
    return true;
}

bool cd_fin_hear(cd_fin *f, const cd_node_id *from, cd_bytes message, u64 now_ns)
{
    cd_fin_message m;
    bool is_right = cd_fin_message_parse(&m, message, NULL) == CD_OK && hear(f, from, &m, message, now_ns);
    f->counts.refused += !is_right;
    return is_right;
}

/* --- blocks --- */

static bool is_checkpoint(const cd_fin_block *b)
{
    return b->m.time_ns / CD_NS_PER_SEC / CD_FIN_SLOT_S != b->parent_time_s / CD_FIN_SLOT_S;
}

void cd_fin_accepted(cd_fin *f, const cd_fin_block *b, u64 now_ns)
{
    cd_fin_era era;
    chain *c = chain_of(f, &b->chain);
    if (c == NULL || block_find(c, &b->m.block) != NULL ||
        cd_fin_epochs_at(f->cfg.epochs, &era, b->m.height) != CD_OK) {
        return;
    }
    if (c->cnt == CD_FIN_OPEN_MAX) {
        f->counts.given_up++;
        block_end(f, c, c->v[0]);
    }
    if (c->cnt != 0 && c->v[c->cnt - 1]->has_bls && !c->v[c->cnt - 1]->is_checkpoint) {
        block_end(f, c, c->v[c->cnt - 1]); /* its child will stand for it */
    }
    open_block *o = cd_new(open_block);
    *o = (open_block){.b = *b,
                      .era = era.number,
                      .cnt = era.set->cnt,
                      .is_checkpoint = is_checkpoint(b),
                      .accepted_ns = now_ns,
                      .since_ns = now_ns,
                      .resend_ns = now_ns + CD_FIN_RESEND_S * CD_NS_PER_SEC};
    votes_init(&o->shares, o->cnt, CD_BLS_SIG_LEN);
    votes_init(&o->stamps, o->cnt, CD_MLDSA_SIG);
    c->v[c->cnt++] = o;
    f->counts.open++;
    sign_share(f, o, era.set);
    if (go_on(f, c, o, era.set, now_ns)) {
        block_end(f, c, o);
    }
    take_early(f, &b->m.block, now_ns);
}

void cd_fin_connected(cd_fin *f, const cd_node_id *node)
{
    announce(f, node);
}

/* --- time --- */

/* What becomes of a block. */
typedef enum fate {
    GOES_ON,
    DONE,
    GIVEN_UP,
} fate;

/* A chain that has stood still for a slot has its last block stamped, so that everything on it becomes final. */
static fate wake_block(cd_fin *f, const chain *c, open_block *o, u64 now_ns)
{
    cd_fin_era era;
    if (now_ns >= o->since_ns + CD_FIN_GIVE_UP_S * CD_NS_PER_SEC || !era_of(f, &era, o)) {
        return GIVEN_UP;
    }
    if (o->has_bls && !o->is_checkpoint && is_last(c, o) && now_ns >= o->accepted_ns + CD_FIN_SLOT_S * CD_NS_PER_SEC) {
        o->is_checkpoint = true;
        sign_stamp(f, o, era.set);
        if (try_stamps(f, o, era.set)) {
            return DONE;
        }
    }
    if (now_ns >= o->resend_ns) {
        o->resend_ns = now_ns + CD_FIN_RESEND_S * CD_NS_PER_SEC;
        say_own(f, o, era.set, o->has_bls ? CD_FIN_STAMP : CD_FIN_SHARE);
    }
    return GOES_ON;
}

static u64 next_of(const open_block *o)
{
    u64 next = cd_min_u64(o->resend_ns, o->since_ns + CD_FIN_GIVE_UP_S * CD_NS_PER_SEC);
    return o->has_bls && !o->is_checkpoint ? cd_min_u64(next, o->accepted_ns + CD_FIN_SLOT_S * CD_NS_PER_SEC) : next;
}

u64 cd_fin_wake(cd_fin *f, u64 now_ns)
{
    u64 next = UINT64_MAX;
    if (now_ns >= f->announce_ns) {
        announce(f, NULL);
        f->announce_ns = now_ns + ANNOUNCE_S * CD_NS_PER_SEC;
    }
    next = f->cfg.mldsa_pk != NULL ? f->announce_ns : next;
    for (usize i = 0; i < f->chain_cnt; i++) {
        chain *c = &f->chains[i];
        for (usize k = c->cnt; k-- > 0;) {
            fate what = wake_block(f, c, c->v[k], now_ns);
            f->counts.given_up += what == GIVEN_UP;
            if (what == GOES_ON) {
                next = cd_min_u64(next, next_of(c->v[k]));
            } else {
                block_end(f, c, c->v[k]);
            }
        }
    }
    return next;
}

void cd_fin_counts_get(const cd_fin *f, cd_fin_counts *out)
{
    *out = f->counts;
    out->early = f->early_cnt;
}
