/* Lattice sessions: two rounds among those who answer, three attempts.
 *
 *   idle ── a block has its BLS certificate ─► round 1 ── all commitments ─► round 2 ── all answers ─► signature
 *            (or another party begins)          └ time-out, a bad part ──────┴─► retry among the rest ─► stamps
 *
 * A session's secrets serve one answer: cd_rt_round2 ends them. What is given up is wiped, and what is begun anew draws
 * anew, so that no nonce is ever used for two sums. */
#include "finality/finality_priv.h"

#include "base/mem/mem.h"
#include "crypto/hash/sha2.h"

enum { SPEAKER_SOON = 3 }; /* a party that takes its turn early is heard after this part of a round: 3/4 */

static bool can_sign(const cd_finality *f, const cd_fin_span *s)
{
    return f->cfg.group != NULL && f->cfg.share != NULL && s->set.cnt >= 3 && s->set.cnt <= CD_RT_PARTIES_MAX &&
           cd__fin_me(f, s) == f->cfg.share->index && cd_finality_group_fits(f->cfg.group_nodes, &s->set);
}

static void session_free(cd__fin_session *s)
{
    cd_rt_session_end(s->secrets);
    cd_wipe(s->fresh, sizeof s->fresh);
    for (u32 k = 0; k < s->set.cnt; k++) {
        cd_buf_fini(&s->d[k]);
        cd_buf_fini(&s->z[k]);
    }
    cd_buf_fini(&s->made);
    cd_free(s->made_joint);
    cd_free(s->sig);
    cd_free(s->joint);
    cd_free(s);
}

void cd__fin_session_drop(cd__fin_chain *c)
{
    cd__fin_session *s = c->session;
    if (s == NULL) {
        return;
    }
    c->session = NULL;
    c->has_news = true;
    if (s->task == CD__FIN_IDLE) {
        session_free(s);
    } else {
        s->is_dropped = true; /* the job's end is its own */
    }
}

static u64 session_id(const cd__fin_chain *c, const cd__fin_block *b, u32 attempt, const cd_rt_set *set)
{
    cd_hash32 h;
    cd_buf text = {0};
    u8 bits[CD_RT_PARTIES_MAX / 8] = {0};
    usize n = 0;
    for (u32 k = 0; k < set->cnt; k++) {
        bits[set->party[k] / 8] |= (u8)(1 << set->party[k] % 8);
        n = set->party[k] / 8 + 1;
    }
    cd_buf_put(&text, cd_bytes_of(c->id.b, 32));
    cd_buf_put(&text, cd_bytes_of(b->text, sizeof b->text));
    cd_buf_u8(&text, (u8)attempt);
    cd_buf_put(&text, cd_bytes_of(bits, n));
    cd_sha256(&h, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return cd_be64(h.b);
}

static void masks_key(u8 out[32], const cd__fin_chain *c, const cd__fin_session *s)
{
    cd_hash32 h;
    cd_buf text = {0};
    cd_buf_str(&text, "candela/ringtail/prf");
    cd_buf_put(&text, cd_bytes_of(c->id.b, 32));
    cd_buf_put(&text, cd_bytes_of(s->block->text, sizeof s->block->text));
    cd_put_be64(cd_buf_extend(&text, 8), s->set.session);
    cd_sha256(&h, cd_buf_bytes(&text));
    memcpy(out, h.b, 32);
    cd_buf_fini(&text);
}

static u32 place_of(const cd_rt_set *set, u32 party)
{
    u32 k = 0;
    while (k < set->cnt && set->party[k] != party) {
        k++;
    }
    return k;
}

/* Whose turn it is to begin goes round with the blocks. */
static u64 turn_ns(const cd__fin_block *b, u32 place, u32 cnt)
{
    CD_ASSERT(cnt != 0);
    return (u64)((place + cnt - (u32)(b->height % cnt)) % cnt) * CD_FINALITY_TURN_MS * CD__FIN_MS;
}

/* --- ends --- */

/* The session has failed: the parties that did what the last round asked of them try again, or all stamp. */
static void fail(cd_finality *f, cd__fin_chain *c, bool in_time, u64 now)
{
    cd__fin_session *s = c->session;
    cd_fin_span *span = cd__fin_span(f, s->block);
    cd_rt_set rest = {0};
    for (u32 k = 0; k < s->set.cnt; k++) {
        bool answered = (s->joint == NULL ? s->d[k].n : s->z[k].n) != 0 || in_time || k == s->me;
        if (answered && !s->is_bad[k]) {
            rest.party[rest.cnt++] = s->set.party[k];
        } else {
            c->away_ns[s->set.party[k]] = now + (u64)CD_FINALITY_GIVE_UP_MS * CD__FIN_MS;
        }
    }
    cd__fin_block *b = s->block;
    u32 place = place_of(&rest, f->cfg.share->index);
    f->stats.failed++;
    cd__fin_session_drop(c);
    c->retry = NULL;
    if (span == NULL || b->is_done) {
        return;
    }
    if (b->attempts >= CD_FINALITY_ATTEMPTS || rest.cnt < cd_fin_threshold(span->set.cnt)) {
        cd__fin_stamps_begin(f, c, b, now);
    } else {
        c->retry = b;
        c->retry_set = rest;
        c->retry_ns = now + (place == rest.cnt ? (u64)CD_FINALITY_ROUND_MS * CD__FIN_MS : turn_ns(b, place, rest.cnt));
    }
}

static void publish(cd_finality *f, cd__fin_chain *c, const cd_rt_sig *sig, u64 now)
{
    cd__fin_session *s = c->session;
    cd__fin_block *b = s->block;
    const cd_fin_span *span = cd__fin_span(f, b);
    cd_buf parties = {0};
    cd_buf lattice = {0};
    cd_buf bytes = {0};
    for (u32 k = 0; k < s->set.cnt; k++) {
        cd_buf_put(&parties, cd_bytes_of(span->validators[s->set.party[k]].node.b, CD_FIN_NODE_BYTES));
    }
    cd_rt_sig_put(&lattice, sig);
    cd_fin_cert cert = {
        .type = CD_FIN_BOTH,
        .parties = cd_buf_bytes(&parties),
        .lattice = cd_buf_bytes(&lattice),
    };
    bool speaks = s->me == 0;
    cd__fin_session_drop(c);
    if (cd__fin_certify(f, c, b, &cert, &bytes, now) && speaks) {
        const cd_fin_says says = {
            .kind = CD_FIN_SAYS_CERT,
            .chain = c->id,
            .msg = b->msg,
            .bytes = cd_buf_bytes(&bytes),
        };
        cd__fin_say(f, span, &says, NULL);
    }
    cd_buf_fini(&parties);
    cd_buf_fini(&lattice);
    cd_buf_fini(&bytes);
}

/* --- rounds: computed here or elsewhere --- */

static void compute_round1(cd__fin_session *s)
{
    s->err = cd_rt_round1(&s->secrets, &s->made, s->made_tags, s->group, s->share, &s->set, s->fresh);
    cd_wipe(s->fresh, sizeof s->fresh);
}

static void compute_round2(cd__fin_session *s)
{
    const cd_bytes text = cd_bytes_of(s->text, sizeof s->text);
    cd_bytes d[CD_RT_PARTIES_MAX];
    for (u32 k = 0; k < s->set.cnt; k++) {
        d[k] = cd_buf_bytes(&s->d[k]);
    }
    s->made_joint = cd_new(cd_rt_joint);
    s->err = cd_rt_joint_make(s->made_joint, &s->bad, s->group, &s->set, d, text);
    if (s->err == CD_OK) {
        s->err = cd_rt_round2(&s->made, &s->bad, &s->secrets, s->share, s->made_joint, d, (const u8(*)[32])s->tags,
                              s->masks, text);
    }
}

static void compute_finish(cd__fin_session *s)
{
    cd_bytes z[CD_RT_PARTIES_MAX];
    for (u32 k = 0; k < s->set.cnt; k++) {
        z[k] = cd_buf_bytes(&s->z[k]);
    }
    s->sig = cd_new(cd_rt_sig);
    s->err = cd_rt_finalize(s->sig, &s->bad, s->group, s->joint, z, cd_bytes_of(s->text, sizeof s->text));
}

void cd_finality_job_run(cd_finality_job *s)
{
    s->bad = CD_RT_PARTIES_MAX;
    if (s->task == CD__FIN_ROUND1) {
        compute_round1(s);
    } else if (s->task == CD__FIN_ROUND2) {
        compute_round2(s);
    } else if (s->task == CD__FIN_FINISH) {
        compute_finish(s);
    }
}

static void worked(cd_finality *f, cd__fin_session *s, u64 now);

static void compute(cd_finality *f, cd__fin_session *s, cd__fin_task task, u64 now)
{
    s->task = task;
    if (f->cfg.out.work == NULL || !f->cfg.out.work(f->cfg.out.ctx, s)) {
        cd_finality_job_run(s);
        worked(f, s, now);
    }
}

static void try_finish(cd_finality *f, cd__fin_session *s, u64 now)
{
    if (s->task == CD__FIN_IDLE && s->joint != NULL && s->z_cnt == s->set.cnt) {
        compute(f, s, CD__FIN_FINISH, now);
    }
}

static void try_answer(cd_finality *f, cd__fin_session *s, u64 now)
{
    if (s->task == CD__FIN_IDLE && s->joint == NULL && s->d_cnt == s->set.cnt) {
        compute(f, s, CD__FIN_ROUND2, now);
    }
}

/* Begins a session, or joins one that another party has begun. */
static void begin(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, u32 attempt, const cd_rt_set *set, u64 now)
{
    cd__fin_session *s = cd_new(cd__fin_session);
    *s = (cd__fin_session){.block = b,
                           .chain = c,
                           .group = f->cfg.group,
                           .share = f->cfg.share,
                           .attempt = attempt,
                           .set = *set,
                           .begun_ns = now};
    s->me = place_of(set, f->cfg.share->index);
    s->until_ns = now + (u64)CD_FINALITY_ROUND_MS * CD__FIN_MS;
    memcpy(s->text, b->text, sizeof s->text);
    masks_key(s->masks, c, s);
    cd_rng_fill(f->cfg.rng, s->fresh, sizeof s->fresh);
    c->session = s;
    c->retry = NULL;
    b->attempts = attempt + 1;
    compute(f, s, CD__FIN_ROUND1, now);
}

static void say_round1(cd_finality *f, cd__fin_session *s, u64 now)
{
    cd_buf wire = {0};
    const cd_fin_span *span = cd__fin_span(f, s->block);
    if (s->err != CD_OK || span == NULL) {
        cd__fin_session_drop(s->chain);
        return;
    }
    f->stats.sessions++;
    s->d[s->me] = s->made;
    s->made = (cd_buf){0};
    for (u32 k = 0; k < s->set.cnt; k++) {
        if (k != s->me) {
            u8 *p = cd_buf_extend(&wire, CD_FIN_TAG_BYTES);
            cd_put_be32(p, s->set.party[k]);
            memcpy(p + 4, s->made_tags[k], 32);
        }
    }
    const cd_fin_says says = {
        .kind = CD_FIN_SAYS_ROUND1,
        .chain = s->chain->id,
        .msg = s->block->msg,
        .session = s->set.session,
        .party = f->cfg.share->index,
        .bytes = cd_buf_bytes(&s->d[s->me]),
        .tags = cd_buf_bytes(&wire),
    };
    s->d_cnt++;
    s->chain->has_news = true;
    cd__fin_say(f, span, &says, &s->set);
    cd_buf_fini(&wire);
    try_answer(f, s, now);
}

static void say_round2(cd_finality *f, cd__fin_session *s, u64 now)
{
    const cd_fin_span *span = cd__fin_span(f, s->block);
    if (s->err != CD_OK || span == NULL) {
        if ((s->err == CD_EFORMAT || s->err == CD_ESIG) && s->bad < s->set.cnt) {
            s->is_bad[s->bad] = true;
            f->stats.refused++;
        }
        fail(f, s->chain, true, now);
        return;
    }
    s->joint = s->made_joint;
    s->made_joint = NULL;
    s->until_ns = now + (u64)CD_FINALITY_ROUND_MS * CD__FIN_MS;
    const cd_fin_says says = {
        .kind = CD_FIN_SAYS_ROUND2,
        .chain = s->chain->id,
        .msg = s->block->msg,
        .session = s->set.session,
        .party = f->cfg.share->index,
        .bytes = cd_buf_bytes(&s->made),
    };
    cd__fin_say(f, span, &says, &s->set);
    s->z[s->me] = s->made;
    s->made = (cd_buf){0};
    s->z_cnt++;
    s->chain->has_news = true;
    try_finish(f, s, now);
}

static void end(cd_finality *f, cd__fin_session *s, u64 now)
{
    if (s->err == CD_OK) {
        cd_rt_sig *sig = s->sig;
        s->sig = NULL;
        publish(f, s->chain, sig, now);
        cd_free(sig);
        return;
    }
    if (s->err == CD_EFORMAT && s->bad < s->set.cnt) {
        s->is_bad[s->bad] = true;
    }
    fail(f, s->chain, true, now);
}

/* What was computed, on the thread again; nobody may want it any more. */
static void worked(cd_finality *f, cd__fin_session *s, u64 now)
{
    cd__fin_task task = s->task;
    s->task = CD__FIN_IDLE;
    if (s->is_dropped) {
        session_free(s);
    } else if (task == CD__FIN_ROUND1) {
        say_round1(f, s, now);
    } else if (task == CD__FIN_ROUND2) {
        say_round2(f, s, now);
    } else {
        end(f, s, now);
    }
}

void cd_finality_worked(cd_finality *f, cd_finality_job *job, u64 now_ns)
{
    if (f == NULL) {
        session_free(job);
        return;
    }
    worked(f, job, now_ns);
    cd__fin_replay(f, now_ns);
}

/* --- what parties say --- */

/* The set that a first round is for, and its attempt; false: it is for none that there can be. */
static bool set_of(cd_rt_set *set, u32 *attempt, const cd_finality *f, const cd__fin_chain *c, const cd__fin_block *b,
                   const cd_fin_says *says, const cd_fin_span *span)
{
    *set = (cd_rt_set){.session = says->session};
    for (usize i = 0; i < says->tags.n; i += CD_FIN_TAG_BYTES) {
        u32 party = cd_be32(says->tags.p + i);
        if (says->party < party && place_of(set, says->party) == set->cnt) {
            set->party[set->cnt++] = says->party;
        }
        set->party[set->cnt++] = party;
    }
    if (place_of(set, says->party) == set->cnt) {
        set->party[set->cnt++] = says->party;
    }
    if (!cd_rt_set_is_good(set, span->set.cnt, cd_fin_threshold(span->set.cnt)) ||
        place_of(set, f->cfg.share->index) == set->cnt) {
        return false;
    }
    for (*attempt = 0; *attempt < CD_FINALITY_ATTEMPTS; (*attempt)++) {
        if (session_id(c, b, *attempt, set) == says->session) {
            return true;
        }
    }
    return false;
}

/* Whether this node leaves what it does for that session. */
static cd__fin_fate leaves_for(const cd__fin_chain *c, const cd__fin_block *b, u32 attempt, u64 now)
{
    const cd__fin_session *s = c->session;
    if (s == NULL) {
        bool is_open = !b->wants_stamps && attempt >= b->attempts && (c->retry == NULL || c->retry == b);
        return is_open ? CD__FIN_DONE : CD__FIN_REFUSED;
    }
    if (s->block == b) {
        bool is_late = now - s->begun_ns >= (u64)CD_FINALITY_ROUND_MS / 4 * SPEAKER_SOON * CD__FIN_MS;
        return attempt <= s->attempt ? CD__FIN_REFUSED : is_late ? CD__FIN_DONE : CD__FIN_LATER;
    }
    /* Two have begun at once, with different blocks: all meet at the lower one. */
    bool meets = s->attempt == 0 && attempt == 0 && s->joint == NULL && b->height < s->block->height;
    return meets ? CD__FIN_DONE : CD__FIN_LATER;
}

static void take_round1(cd__fin_session *s, const cd_fin_says *says, u32 k)
{
    for (usize i = 0; i < says->tags.n; i += CD_FIN_TAG_BYTES) {
        if (cd_be32(says->tags.p + i) == s->set.party[s->me]) {
            memcpy(s->tags[k], says->tags.p + i + 4, 32);
        }
    }
    cd_buf_put(&s->d[k], says->bytes);
    s->d_cnt++;
}

cd__fin_fate cd__fin_on_round1(cd_finality *f, cd__fin_chain *c, const cd_node_id *from, const cd_fin_says *says,
                               u64 now)
{
    cd__fin_block *b = cd__fin_find(c, &says->msg);
    cd_fin_span *span = b == NULL ? NULL : cd__fin_span(f, b);
    if (b == NULL || (!b->is_bls && !b->is_done)) {
        return CD__FIN_LATER;
    }
    if (b->is_done) {
        return CD__FIN_DONE;
    }
    if (span == NULL || !can_sign(f, span)) {
        return CD__FIN_DONE;
    }
    cd_rt_set set;
    u32 attempt;
    if (cd_fin_set_find(&span->set, from) != says->party || !set_of(&set, &attempt, f, c, b, says, span)) {
        return CD__FIN_REFUSED;
    }
    if (c->session == NULL || c->session->set.session != says->session || c->session->block != b) {
        cd__fin_fate fate = leaves_for(c, b, attempt, now);
        if (fate != CD__FIN_DONE) {
            return fate == CD__FIN_REFUSED ? CD__FIN_DONE : fate;
        }
        cd__fin_session_drop(c);
        begin(f, c, b, attempt, &set, now);
    }
    cd__fin_session *s = c->session;
    u32 k = s == NULL ? 0 : place_of(&s->set, says->party);
    if (s != NULL && k != s->me && s->d[k].n == 0 && s->joint == NULL) {
        take_round1(s, says, k);
        try_answer(f, s, now);
    }
    return CD__FIN_DONE;
}

cd__fin_fate cd__fin_on_round2(cd_finality *f, cd__fin_chain *c, const cd_node_id *from, const cd_fin_says *says,
                               u64 now)
{
    cd__fin_block *b = cd__fin_find(c, &says->msg);
    cd__fin_session *s = c->session;
    if (b == NULL) {
        return CD__FIN_LATER;
    }
    if (b->is_done) {
        return CD__FIN_DONE;
    }
    if (s == NULL || s->block != b || s->set.session != says->session) {
        return CD__FIN_LATER;
    }
    const cd_fin_span *span = cd__fin_span(f, b);
    u32 k = place_of(&s->set, says->party);
    if (span == NULL || k == s->set.cnt || cd_fin_set_find(&span->set, from) != says->party) {
        return CD__FIN_REFUSED;
    }
    if (k != s->me && s->z[k].n == 0) {
        cd_buf_put(&s->z[k], says->bytes);
        s->z_cnt++;
        try_finish(f, s, now);
    }
    return CD__FIN_DONE;
}

/* --- by the clock --- */

static cd__fin_block *candidate(cd__fin_chain *c)
{
    for (u32 i = c->cnt; i-- != 0;) {
        cd__fin_block *b = c->blocks[i];
        if (b->is_done) {
            return NULL;
        }
        if (b->is_bls && b->signs) {
            return b->wants_stamps || b->attempts != 0 ? NULL : b;
        }
    }
    return NULL;
}

static bool is_busy(const cd__fin_chain *c)
{
    bool busy = c->session != NULL || c->retry != NULL;
    for (u32 i = 0; i < c->cnt && !busy; i++) {
        busy = c->blocks[i]->wants_stamps && !c->blocks[i]->is_done;
    }
    return busy;
}

/* All parties, but for those who did not answer lately, as long as there are enough. */
static cd_rt_set everybody(cd__fin_chain *c, const cd_fin_span *span, u64 now)
{
    cd_rt_set set = {0};
    if (c->away_epoch != span->number) {
        memset(c->away_ns, 0, sizeof c->away_ns);
        c->away_epoch = span->number;
    }
    for (u32 i = 0; i < span->set.cnt; i++) {
        if (c->away_ns[i] <= now) {
            set.party[set.cnt++] = i;
        }
    }
    if (set.cnt < cd_fin_threshold(span->set.cnt)) {
        set.cnt = span->set.cnt;
        for (u32 i = 0; i < set.cnt; i++) {
            set.party[i] = i;
        }
    }
    return set;
}

/* When this node begins with a block by itself. */
static u64 start_tick(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, u64 now)
{
    cd_fin_span *span = cd__fin_span(f, b);
    if (span == NULL || cd__fin_me(f, span) == span->set.cnt) {
        return UINT64_MAX;
    }
    u64 due = cd_max_u64(c->pace_ns, b->bls_ns) + turn_ns(b, cd__fin_me(f, span), span->set.cnt);
    if (now < due) {
        return due;
    }
    if (!can_sign(f, span)) {
        cd__fin_stamps_begin(f, c, b, now);
        return UINT64_MAX;
    }
    cd_rt_set set = everybody(c, span, now);
    if (place_of(&set, f->cfg.share->index) == set.cnt) {
        return UINT64_MAX;
    }
    set.session = session_id(c, b, 0, &set);
    begin(f, c, b, 0, &set, now);
    return c->session == NULL ? UINT64_MAX : c->session->until_ns;
}

u64 cd__fin_rounds_tick(cd_finality *f, cd__fin_chain *c, u64 now)
{
    if (c->session != NULL && c->session->block->is_done) {
        cd__fin_session_drop(c);
    }
    if (c->session != NULL && now >= c->session->until_ns) {
        fail(f, c, false, now);
    }
    if (c->retry != NULL && c->retry->is_done) {
        c->retry = NULL;
    }
    if (c->retry != NULL && now >= c->retry_ns) {
        cd__fin_block *b = c->retry;
        cd_rt_set set = c->retry_set;
        c->retry = NULL;
        if (place_of(&set, f->cfg.share->index) != set.cnt) {
            set.session = session_id(c, b, b->attempts, &set);
            begin(f, c, b, b->attempts, &set, now);
        } else {
            cd__fin_stamps_begin(f, c, b, now);
        }
    }
    cd__fin_block *b = is_busy(c) ? NULL : candidate(c);
    u64 next = b == NULL ? UINT64_MAX : start_tick(f, c, b, now);
    next = c->session == NULL ? next : cd_min_u64(next, c->session->until_ns);
    return c->retry == NULL ? next : cd_min_u64(next, c->retry_ns);
}
