/* Turns: the set of an epoch signs that of the next, so that who knows the one can follow to the other.
 *
 *   a new epoch ─► its ID, by the keys that are known ─► signatures of the set before ─┬► two thirds ─► certificate
 *         └ other keys come ─► another ID, all anew                                    └► each of them is kept
 *
 *   'C' set chain, number ──► certificate by the set before    'S' set chain, number ──► the epoch, as a checkpoint
 *   'I' set chain, ID ──► number                               'V' set chain, number ──► signatures, one by one
 *
 * An epoch's keys are those of its checkpoint here: what its validators announce later counts from the next one on. */
#include "finality/finality_priv.h"

#include "base/mem/mem.h"

enum { KEYS_WAIT_MS = 10000, EAGER_MS = 60000, CALM_MS = 30000, ASK_MS = 10000, FLUSH_MS = 1000 };

/* The turn to the newest epoch. */
struct cd__fin_turn {
    u64 number;    /* of that epoch */
    bool is_open;  /* the set before is known */
    bool is_begun; /* the ID stands, and is signed */
    bool has_cert;
    bool is_signed; /* by ML-DSA, too */
    bool is_dirty;  /* there are signatures that the store has not */
    u64 begun_ns;
    u64 due_ns;
    u64 ask_ns;
    u64 view; /* of which state of the keys msg is */
    cd_fin_msg msg;
    u8 text[CD_FIN_MSG_BYTES];
    cd_buf point;
    cd_fin_book *base; /* who signs */
    cd_fin_book *next; /* the epoch as it was signed; NULL: it is not yet */
    cd__fin_witness *all;
    u64 bls_weight;
    u64 mldsa_weight;
};

void cd__fin_turn_free(cd_finality *f)
{
    cd__fin_turn *t = f->turn;
    if (t != NULL) {
        cd_buf_fini(&t->point);
        cd_free(t->base);
        cd_free(t->next);
        cd_free(t->all);
        cd_free(t);
        f->turn = NULL;
    }
}

bool cd__fin_key_is_late(cd_finality *f, const cd_fin_span *s, u32 index)
{
    const cd__fin_turn *t = f->turn;
    const u8 *now = cd_hmap_get(&f->keys, &s->validators[index].node);
    if (t == NULL || t->next == NULL || t->number != s->number || index >= t->next->epoch.set.cnt || now == NULL) {
        return false;
    }
    const u8 *then = t->next->epoch.set.validators[index].mldsa;
    return then == NULL || memcmp(then, now, CD_MLDSA_PK) != 0;
}

/* The epoch has been signed: its keys are those. */
static void settle(cd__fin_turn *t)
{
    cd_free(t->next);
    t->next = t->is_signed ? cd__fin_book_of(cd_buf_bytes(&t->point)) : NULL;
}

static void wake_held(cd_finality *f)
{
    for (u32 i = 0; i < f->chain_cnt; i++) {
        f->chains[i]->has_news = true;
    }
}

/* --- the epoch that is signed --- */

/* Appends an epoch as it is known now, and gives its ID. */
static void put_view(cd_finality *f, cd_buf *point, cd_fin_msg *msg, const cd_fin_span *s)
{
    cd_fin_epoch e = {.network = f->cfg.network_id, .number = s->number, .set = cd__fin_set(f, s)};
    if (e.set.group != NULL) {
        cd_rt_key_id(&e.group_id, e.set.group);
        e.set.group = NULL;
    }
    cd_fin_checkpoint_put(point, &e, NULL, 0);
    cd_fin_epoch_msg(msg, &e, s->begun_s * 1000000000);
}

/* The set that signs: as it was signed itself, or else as it is known when it is first asked to sign. */
static bool open_base(cd_finality *f, cd__fin_turn *t, const cd_fin_span *s)
{
    cd_fin_msg msg;
    cd_buf point = {0};
    bool is_there = cd__fin_get_point(f->cfg.kv, &point, s->number) == CD_OK;
    if (!is_there) {
        cd_buf_clear(&point);
        put_view(f, &point, &msg, s);
        is_there = cd__fin_put_point(f->cfg.kv, s->number, cd_buf_bytes(&point)) == CD_OK;
    }
    t->base = is_there ? cd__fin_book_of(cd_buf_bytes(&point)) : NULL;
    cd_buf_fini(&point);
    if (t->base == NULL || t->base->epoch.number != s->number || t->base->epoch.set.from != s->set.from) {
        return false;
    }
    t->all = cd_alloc(sizeof *t->all * t->base->epoch.set.cnt);
    memset(t->all, 0, sizeof *t->all * t->base->epoch.set.cnt);
    return true;
}

static void weigh(cd__fin_turn *t)
{
    const cd_fin_set *set = &t->base->epoch.set;
    t->bls_weight = 0;
    t->mldsa_weight = 0;
    for (u32 i = 0; i < set->cnt; i++) {
        t->bls_weight += (t->all[i].has & CD__FIN_SIGNED_BLS) != 0 ? set->validators[i].weight : 0;
        t->mldsa_weight += (t->all[i].has & CD__FIN_SIGNED_MLDSA) != 0 ? set->validators[i].weight : 0;
    }
}

/* What was signed before this start. */
static void resume(cd_finality *f, cd__fin_turn *t)
{
    cd_buf bytes = {0};
    cd_fin_cert cert;
    if (cd_finality_cert_at(f->cfg.kv, &bytes, &cd_fin_epoch_chain, t->number) == CD_OK &&
        cd_fin_cert_parse(&cert, cd_buf_bytes(&bytes)) == CD_FLAW_NONE &&
        cd__fin_get_point(f->cfg.kv, &t->point, t->number) == CD_OK) {
        t->msg = cert.msg;
        cd_fin_msg_enc(t->text, &t->msg);
        t->view = f->keys_view;
        t->is_begun = true;
        t->has_cert = true;
        t->is_signed = cd_fin_is_final(cert.type);
        cd_fin_msg signed_msg;
        if (cd__fin_get_witnesses(f->cfg.kv, t->all, &signed_msg, &t->base->epoch.set, t->number) != CD_OK ||
            !cd_hash32_eq(&signed_msg.block, &t->msg.block)) {
            memset(t->all, 0, sizeof *t->all * t->base->epoch.set.cnt);
        }
        weigh(t);
        settle(t);
    }
    cd_buf_fini(&bytes);
}

static void open_turn(cd_finality *f, u64 now)
{
    const cd_fin_epochs *e = &f->epochs;
    if (e->cnt < 2 || (f->turn != NULL && f->turn->number == e->rows[e->cnt - 1].number)) {
        return;
    }
    cd__fin_turn_free(f);
    cd__fin_turn *t = cd_new(cd__fin_turn);
    *t = (cd__fin_turn){.number = e->rows[e->cnt - 1].number, .begun_ns = now, .due_ns = now};
    t->ask_ns = now + (u64)ASK_MS * CD__FIN_MS;
    t->is_open = open_base(f, t, &e->rows[e->cnt - 2]);
    f->turn = t;
    if (t->is_open) {
        resume(f, t);
    }
}

static bool knows_all_keys(cd_finality *f, const cd_fin_span *s)
{
    u32 i = 0;
    while (i < s->set.cnt && cd_hmap_get(&f->keys, &s->validators[i].node) != NULL) {
        i++;
    }
    return i == s->set.cnt;
}

/* Finds the epoch's ID, and again when keys have come that change it. */
static void look(cd_finality *f, cd__fin_turn *t, u64 now)
{
    const cd_fin_span *s = &f->epochs.rows[f->epochs.cnt - 1];
    cd_buf point = {0};
    cd_fin_msg msg;
    bool is_early = now - t->begun_ns < (u64)KEYS_WAIT_MS * CD__FIN_MS && !knows_all_keys(f, s);
    if (t->is_signed || (t->is_begun ? t->view == f->keys_view : is_early)) {
        return;
    }
    put_view(f, &point, &msg, s);
    t->view = f->keys_view;
    if (!t->is_begun || !cd_hash32_eq(&msg.block, &t->msg.block)) {
        cd_buf_clear(&t->point);
        cd_buf_put(&t->point, cd_buf_bytes(&point));
        t->msg = msg;
        cd_fin_msg_enc(t->text, &msg);
        memset(t->all, 0, sizeof *t->all * t->base->epoch.set.cnt);
        weigh(t);
        t->is_begun = true;
        t->has_cert = false;
        t->due_ns = now;
        wake_held(f);
    }
    cd_buf_fini(&point);
}

/* --- signatures --- */

static bool keep(cd_finality *f, cd__fin_turn *t, const cd_fin_cert *cert, cd_bytes bytes)
{
    const cd__fin_turned what = {.number = t->number,
                                 .cert = bytes,
                                 .point = cd_buf_bytes(&t->point),
                                 .set = &t->base->epoch.set,
                                 .all = t->all,
                                 .msg = &t->msg};
    if (!cd__fin_put_turned(f->cfg.kv, &what)) {
        return false;
    }
    t->has_cert = true;
    t->is_signed = cd_fin_is_final(cert->type);
    t->is_dirty = false;
    f->stats.turns++;
    settle(t);
    return true;
}

/* Two thirds by BLS are a change; with ML-DSA they are one that no quantum computer forges. */
static void try_certify(cd_finality *f, cd__fin_turn *t)
{
    const cd_fin_set *set = &t->base->epoch.set;
    bool by_mldsa = cd_fin_quorum(t->mldsa_weight, set->total);
    cd_buf bytes = {0};
    cd_fin_cert cert;
    t->is_dirty = true;
    if (t->is_signed || !cd_fin_quorum(t->bls_weight, set->total) || (t->has_cert && !by_mldsa)) {
        return;
    }
    cd__fin_witness_cert(&bytes, set, &t->msg, t->all, by_mldsa);
    if (cd_fin_verify_bytes(&cert, cd_buf_bytes(&bytes), set, &cd_fin_epoch_chain, f->room) == CD_FLAW_NONE) {
        (void)keep(f, t, &cert, cd_buf_bytes(&bytes)); /* the next signature tries again */
    }
    cd_buf_fini(&bytes);
}

static bool take_bls(cd__fin_turn *t, u32 i, cd_bytes bytes)
{
    cd_bls_sig sig;
    if (cd_bls_sig_dec(&sig, bytes) != CD_OK ||
        !cd_bls_verify(&sig, CD_BLS_POP, cd_bytes_of(t->text, sizeof t->text), &t->base->epoch.set.validators[i].bls)) {
        return false;
    }
    memcpy(t->all[i].bls, bytes.p, CD_BLS_SIG_LEN);
    t->all[i].has |= CD__FIN_SIGNED_BLS;
    return true;
}

static bool take_mldsa(cd__fin_turn *t, u32 i, cd_bytes bytes)
{
    const u8 *key = t->base->epoch.set.validators[i].mldsa;
    if (!cd_mldsa_verify(key, bytes, cd_bytes_of(t->text, sizeof t->text), (cd_bytes){0})) {
        return false;
    }
    memcpy(t->all[i].mldsa, bytes.p, CD_MLDSA_SIG);
    t->all[i].has |= CD__FIN_SIGNED_MLDSA;
    return true;
}

static void say(cd_finality *f, cd__fin_turn *t, cd_fin_kind kind, cd_bytes sig)
{
    const cd_fin_span *s = cd_fin_epochs_numbered(&f->epochs, t->base->epoch.number);
    const cd_fin_says says = {
        .kind = kind, .chain = cd_fin_epoch_chain, .msg = t->msg, .node = f->cfg.self, .bytes = sig};
    if (s != NULL) {
        cd__fin_say(f, s, &says, NULL);
    }
}

/* Signs, or says again what was signed. */
static void sign(cd_finality *f, cd__fin_turn *t, u64 now)
{
    static const u8 deterministic[32];
    const cd_bytes text = cd_bytes_of(t->text, sizeof t->text);
    u32 me = cd_fin_set_find(&t->base->epoch.set, &f->cfg.self);
    bool is_eager = now - t->begun_ns < (u64)EAGER_MS * CD__FIN_MS;
    t->due_ns = now + (is_eager ? (u64)CD_FINALITY_RESEND_MS : (u64)CALM_MS) * CD__FIN_MS;
    if (me == t->base->epoch.set.cnt) {
        return;
    }
    cd__fin_witness *own = &t->all[me];
    const u8 *key = t->base->epoch.set.validators[me].mldsa;
    u8 sig[CD_MLDSA_SIG];
    if ((own->has & CD__FIN_SIGNED_BLS) == 0 && f->cfg.signer != NULL &&
        f->cfg.signer->sign(f->cfg.signer, sig, text) == CD_OK) {
        (void)take_bls(t, me, cd_bytes_of(sig, CD_BLS_SIG_LEN)); /* false: the set has another key of this node */
    }
    if ((own->has & CD__FIN_SIGNED_MLDSA) == 0 && f->cfg.mldsa_secret != NULL && key != NULL &&
        memcmp(key, f->cfg.mldsa_key, CD_MLDSA_PK) == 0) {
        cd_mldsa_sign(sig, f->cfg.mldsa_secret, text, (cd_bytes){0}, deterministic);
        (void)take_mldsa(t, me, cd_bytes_of(sig, sizeof sig));
    }
    if ((own->has & CD__FIN_SIGNED_BLS) != 0) {
        say(f, t, CD_FIN_SAYS_SHARE, cd_bytes_of(own->bls, CD_BLS_SIG_LEN));
    }
    if ((own->has & CD__FIN_SIGNED_MLDSA) != 0) {
        say(f, t, CD_FIN_SAYS_STAMP, cd_bytes_of(own->mldsa, CD_MLDSA_SIG));
    }
    weigh(t);
    try_certify(f, t);
}

/* --- what others say --- */

static cd__fin_fate on_signature(cd_finality *f, cd__fin_turn *t, const cd_node_id *from, const cd_fin_says *s)
{
    const cd_fin_set *set = &t->base->epoch.set;
    u32 i = cd_fin_set_find(set, from);
    if (i == set->cnt || memcmp(from, &s->node, sizeof *from) != 0) {
        return CD__FIN_REFUSED;
    }
    bool is_bls = s->kind == CD_FIN_SAYS_SHARE;
    if ((t->all[i].has & (is_bls ? CD__FIN_SIGNED_BLS : CD__FIN_SIGNED_MLDSA)) != 0) {
        if (t->is_signed && is_bls) { /* it has not heard of the others */
            const cd__fin_chain chain = {.id = cd_fin_epoch_chain};
            const cd__fin_block block = {.msg = t->msg};
            cd__fin_help(f, &chain, &block, from);
        }
        return CD__FIN_DONE;
    }
    if (!is_bls && set->validators[i].mldsa == NULL) {
        return CD__FIN_DONE;
    }
    if (!(is_bls ? take_bls(t, i, s->bytes) : take_mldsa(t, i, s->bytes))) {
        return CD__FIN_REFUSED;
    }
    weigh(t);
    try_certify(f, t);
    return CD__FIN_DONE;
}

static cd__fin_fate on_cert(cd_finality *f, cd__fin_turn *t, const cd_fin_cert *cert, cd_bytes bytes)
{
    bool is_better = cd_fin_is_final(cert->type) ? !t->is_signed : !t->has_cert;
    if (!is_better) {
        return CD__FIN_DONE;
    }
    if ((cert->type != CD_FIN_MLDSA && cert->type != CD_FIN_BLS) ||
        cd_fin_verify(cert, &t->base->epoch.set, &cd_fin_epoch_chain, f->room) != CD_FLAW_NONE) {
        return CD__FIN_REFUSED;
    }
    (void)keep(f, t, cert, bytes); /* it is asked for again */
    return CD__FIN_DONE;
}

cd__fin_fate cd__fin_on_turn(cd_finality *f, const cd_node_id *from, const cd_fin_says *s)
{
    cd__fin_turn *t = f->turn;
    cd_fin_cert cert = {.msg = s->msg};
    if (s->kind == CD_FIN_SAYS_CERT && cd_fin_cert_parse(&cert, s->bytes) != CD_FLAW_NONE) {
        return CD__FIN_REFUSED;
    }
    bool is_ours = t != NULL && t->is_begun && cd_hash32_eq(&cert.msg.block, &t->msg.block) &&
                   cert.msg.height == t->msg.height && cert.msg.time_ns == t->msg.time_ns;
    if (!is_ours) {
        return t != NULL && t->is_signed ? CD__FIN_DONE : CD__FIN_LATER;
    }
    if (s->kind == CD_FIN_SAYS_CERT) {
        return on_cert(f, t, &cert, s->bytes);
    }
    bool is_signature = s->kind == CD_FIN_SAYS_SHARE || s->kind == CD_FIN_SAYS_STAMP;
    return is_signature ? on_signature(f, t, from, s) : CD__FIN_REFUSED;
}

/* --- by the clock --- */

static void ask(cd_finality *f, cd__fin_turn *t, u64 now)
{
    const cd_fin_set *set = &t->base->epoch.set;
    const cd_node_id *who = &set->validators[cd_rng_below(f->cfg.rng, set->cnt)].node;
    t->ask_ns = now + (u64)ASK_MS * CD__FIN_MS;
    if (memcmp(who, &f->cfg.self, sizeof *who) != 0) {
        cd_buf bytes = {0};
        const cd_fin_says says = {.kind = CD_FIN_SAYS_WANTED, .chain = cd_fin_epoch_chain, .msg = t->msg};
        cd_fin_says_put(&bytes, &says);
        f->cfg.out.ask(f->cfg.out.ctx, who, cd_buf_bytes(&bytes));
        cd_buf_fini(&bytes);
    }
}

u64 cd__fin_turn_tick(cd_finality *f, u64 now)
{
    open_turn(f, now);
    cd__fin_turn *t = f->turn;
    if (t == NULL || !t->is_open) {
        return UINT64_MAX;
    }
    look(f, t, now);
    if (t->is_begun && !t->is_signed && now >= t->due_ns) {
        sign(f, t, now);
    }
    if (t->is_begun && !t->is_signed && now >= t->ask_ns) {
        ask(f, t, now);
    }
    if (t->is_dirty && t->has_cert) {
        t->is_dirty = !cd__fin_put_witnesses(f->cfg.kv, t->all, &t->msg, &t->base->epoch.set, t->number);
    }
    u64 soon = now + (u64)FLUSH_MS * CD__FIN_MS;
    return t->is_signed  ? (t->is_dirty ? soon : UINT64_MAX)
           : t->is_begun ? cd_min_u64(t->due_ns, t->ask_ns)
                         : cd_min_u64(soon, t->begun_ns + (u64)KEYS_WAIT_MS * CD__FIN_MS);
}
