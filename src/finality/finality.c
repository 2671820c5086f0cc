#include "finality/finality_priv.h"

#include "base/mem/mem.h"

/* A second's messages of one peer that are heard, and the bad ones after which it is not heard for a while. */
enum { HEARD_MAX = 2000, STRIKES_MAX = 16, FORGIVE_MS = 10000, MUTE_MS = 30000, HOLD_MS = 10000, LAST_MS = 600000 };
enum { HELD_OF_PEER = 64, HELD_BYTES_OF_PEER = 4 << 20, ASK_MS = 2000, PATIENCE_MS = 8000 };

/* --- the object --- */

cd_err cd_finality_new(cd_finality **out, const cd_finality_cfg *cfg)
{
    cd_finality *f = cd_new(cd_finality);
    *f = (cd_finality){.cfg = *cfg};
    f->room = cd_new(cd_fin_room);
    f->seated = cd_alloc(sizeof *f->seated * CD_FIN_VALIDATORS_MAX);
    cd_hmap_init(&f->keys, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(cd__fin_key));
    cd_hmap_init(&f->peers, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(cd__fin_peer));
    cd_err e = cd__fin_load_epochs(f);
    e = e == CD_OK ? cd__fin_keys_open(f) : e;
    if (e == CD_OK) {
        *out = f;
    } else {
        cd_finality_free(f);
    }
    return e;
}

static void block_free(cd__fin_block *b)
{
    cd_buf_fini(&b->heard);
    cd_buf_fini(&b->shares);
    cd_buf_fini(&b->stamped);
    cd_buf_fini(&b->stamps);
    cd_buf_fini(&b->bits);
    cd_free(b);
}

static void held_free(cd_finality *f, u32 i)
{
    cd__fin_held *h = f->held[i];
    f->held_bytes -= h->bytes.n;
    cd_buf_fini(&h->bytes);
    cd_free(h);
    memmove(&f->held[i], &f->held[i + 1], sizeof *f->held * (--f->held_cnt - i));
}

void cd_finality_free(cd_finality *f)
{
    if (f == NULL) {
        return;
    }
    for (u32 i = 0; i < f->chain_cnt; i++) {
        cd__fin_session_drop(f->chains[i]);
        for (u32 k = 0; k < f->chains[i]->cnt; k++) {
            block_free(f->chains[i]->blocks[k]);
        }
        cd_free(f->chains[i]);
    }
    while (f->held_cnt != 0) {
        held_free(f, f->held_cnt - 1);
    }
    cd__fin_turn_free(f);
    cd_fin_epochs_fini(&f->epochs);
    cd_hmap_fini(&f->keys);
    cd_hmap_fini(&f->peers);
    cd_free(f->seated);
    cd_free(f->room);
    cd_free(f);
}

cd_fin_epochs *cd_finality_epochs(cd_finality *f)
{
    return &f->epochs;
}

cd_err cd_finality_pblock(cd_finality *f, u64 height, u64 time_s, const cd_vm_validator *validators, usize cnt)
{
    bool is_new;
    CD_TRY(cd_fin_epochs_block(&f->epochs, &is_new, height, time_s, validators, cnt));
    for (u32 i = 0; is_new && i < f->chain_cnt; i++) {
        f->chains[i]->has_news = true;
    }
    return cd__fin_store_epochs(f);
}

void cd_finality_stats_get(const cd_finality *f, cd_finality_stats *out)
{
    *out = f->stats;
}

static void put_row(cd_finality_row *out, const cd__fin_chain *c, const cd__fin_block *b)
{
    const cd__fin_session *s = c->session != NULL && c->session->block == b ? c->session : NULL;
    usize n = cd_max_u64(b->heard.n, b->stamped.n);
    out->chain = c->id;
    out->block = b->msg.block;
    out->height = b->height;
    out->epoch = b->epoch;
    out->is_signed = b->is_bls;
    out->is_final = b->is_done;
    out->parties = s == NULL ? 0 : s->set.cnt;
    out->commits = s == NULL ? 0 : s->d_cnt;
    out->answers = s == NULL ? 0 : s->z_cnt;
    out->bits_n = (u32)n;
    memset(out->shares, 0, n);
    memset(out->stamps, 0, n);
    if (b->heard.n != 0) {
        memcpy(out->shares, b->heard.p, b->heard.n);
    }
    if (b->stamped.n != 0) {
        memcpy(out->stamps, b->stamped.p, b->stamped.n);
    }
}

u32 cd_finality_rows(const cd_finality *f, cd_finality_row *out, u32 max)
{
    u32 cnt = 0;
    for (u32 i = 0; i < f->chain_cnt; i++) {
        const cd__fin_chain *c = f->chains[i];
        for (u32 k = 0; k < CD_FINALITY_ROWS && k < c->cnt && cnt < max; k++) {
            put_row(&out[cnt++], c, c->blocks[c->cnt - 1 - k]);
        }
    }
    return cnt;
}

/* --- sets --- */

cd_fin_span *cd__fin_span(cd_finality *f, const cd__fin_block *b)
{
    return cd_fin_epochs_numbered(&f->epochs, b->epoch);
}

u32 cd__fin_me(const cd_finality *f, const cd_fin_span *s)
{
    return cd_fin_set_find(&s->set, &f->cfg.self);
}

bool cd_finality_group_fits(cd_bytes group_nodes, const cd_fin_set *set)
{
    bool fits = group_nodes.n == (usize)set->cnt * CD_FIN_NODE_BYTES;
    for (u32 i = 0; fits && i < set->cnt; i++) {
        fits = memcmp(group_nodes.p + (usize)i * CD_FIN_NODE_BYTES, set->validators[i].node.b, CD_FIN_NODE_BYTES) == 0;
    }
    return fits;
}

cd_fin_set cd__fin_set(cd_finality *f, const cd_fin_span *s)
{
    cd_fin_set set = s->set;
    memcpy(f->seated, s->validators, sizeof *f->seated * set.cnt);
    for (u32 i = 0; i < set.cnt; i++) {
        f->seated[i].mldsa = cd_hmap_get(&f->keys, &f->seated[i].node);
    }
    set.validators = f->seated;
    set.group = f->cfg.group != NULL && cd_finality_group_fits(f->cfg.group_nodes, &set) ? f->cfg.group : NULL;
    return set;
}

bool cd_finality_newest(cd_finality *f, u64 *number, cd_fin_set *set)
{
    if (f->epochs.cnt == 0) {
        return false;
    }
    const cd_fin_span *s = &f->epochs.rows[f->epochs.cnt - 1];
    *number = s->number;
    *set = cd__fin_set(f, s);
    return true;
}

u64 cd_finality_keys(const cd_finality *f)
{
    return f->keys_view;
}

bool cd__fin_note_bit(cd_buf *bits, u32 i)
{
    if (bits->n <= i / 8) {
        cd_buf_fill(bits, 0, i / 8 + 1 - bits->n);
    }
    bool is_first = (bits->p[i / 8] >> i % 8 & 1) == 0;
    bits->p[i / 8] |= (u8)(1 << i % 8);
    return is_first;
}

void cd__fin_say(cd_finality *f, const cd_fin_span *s, const cd_fin_says *says, const cd_rt_set *only)
{
    cd_buf bytes = {0};
    u32 cnt = only == NULL ? s->set.cnt : only->cnt;
    cd_node_id *to = cd_alloc(sizeof *to * cnt);
    usize n = 0;
    for (u32 k = 0; k < cnt; k++) {
        const cd_node_id *node = &s->set.validators[only == NULL ? k : only->party[k]].node;
        if (memcmp(node, &f->cfg.self, sizeof *node) != 0) {
            to[n++] = *node;
        }
    }
    if (n != 0) {
        cd_fin_says_put(&bytes, says);
        f->cfg.out.tell(f->cfg.out.ctx, to, n, cd_buf_bytes(&bytes));
    }
    cd_buf_fini(&bytes);
    cd_free(to);
}

/* --- blocks --- */

cd__fin_block *cd__fin_find(cd__fin_chain *c, const cd_fin_msg *msg)
{
    for (u32 i = c->cnt; i-- != 0;) {
        const cd_fin_msg *m = &c->blocks[i]->msg;
        if (cd_hash32_eq(&m->block, &msg->block) && m->height == msg->height && m->time_ns == msg->time_ns) {
            return c->blocks[i];
        }
    }
    return NULL;
}

static cd__fin_chain *chain_of(const cd_finality *f, const cd_hash32 *id)
{
    for (u32 i = 0; i < f->chain_cnt; i++) {
        if (cd_hash32_eq(&f->chains[i]->id, id)) {
            return f->chains[i];
        }
    }
    return NULL;
}

static cd_err chain_make(cd_finality *f, cd__fin_chain **out, const cd_hash32 *id)
{
    *out = chain_of(f, id);
    if (*out != NULL) {
        return CD_OK;
    }
    if (f->chain_cnt == CD_FINALITY_CHAINS_MAX) {
        return CD_ELIMIT;
    }
    cd__fin_chain *c = cd_new(cd__fin_chain);
    *c = (cd__fin_chain){.id = *id};
    cd_err e = cd__fin_load(f, c);
    if (e != CD_OK) {
        cd_free(c);
        return e;
    }
    f->chains[f->chain_cnt++] = c;
    *out = c;
    return CD_OK;
}

static void block_drop(cd_finality *f, cd__fin_chain *c, u32 i)
{
    cd__fin_block *b = c->blocks[i];
    if (c->session != NULL && c->session->block == b) {
        cd__fin_session_drop(c);
    }
    c->retry = c->retry == b ? NULL : c->retry;
    f->stats.given_up += b->is_bls || b->is_done || !b->signs ? 0 : 1;
    block_free(b);
    memmove(&c->blocks[i], &c->blocks[i + 1], sizeof *c->blocks * (--c->cnt - i));
}

cd_err cd_finality_accepted(cd_finality *f, const cd_hash32 *chain, u64 height, const cd_fin_msg *msg, bool is_new,
                            u64 now_ns)
{
    cd__fin_chain *c;
    const cd_fin_span *s = cd_fin_epochs_of(&f->epochs, msg->height);
    CD_TRY(chain_make(f, &c, chain));
    if (s == NULL) {
        return CD_ENOENT;
    }
    if (cd__fin_find(c, msg) != NULL) {
        return CD_OK;
    }
    if (c->cnt == CD_FINALITY_BLOCKS_MAX) {
        block_drop(f, c, 0);
    }
    cd__fin_block *b = cd_new(cd__fin_block);
    *b = (cd__fin_block){.msg = *msg, .height = height, .epoch = s->number, .begun_ns = now_ns, .signs = is_new};
    cd_fin_msg_enc(b->text, msg);
    b->resend_ns = UINT64_MAX;
    b->is_done = c->has_final && height <= c->final_height;
    c->blocks[c->cnt++] = b;
    c->tip = height;
    c->progress_ns = c->progress_ns == 0 ? now_ns : c->progress_ns;
    c->has_news = true;
    if (is_new && !b->is_done) {
        cd__fin_own_share(f, c, b, now_ns);
    }
    cd__fin_replay(f, now_ns);
    return CD_OK;
}

/* --- peers --- */

static cd__fin_peer *peer_of(cd_finality *f, const cd_node_id *node)
{
    if (cd_hmap_cnt(&f->peers) >= CD__FIN_PEERS_MAX && cd_hmap_get(&f->peers, node) == NULL) {
        cd_hmap_clear(&f->peers);
    }
    return cd_hmap_put(&f->peers, NULL, node);
}

static bool is_heard(cd_finality *f, const cd_node_id *from, u64 now)
{
    cd__fin_peer *p = peer_of(f, from);
    if (now - p->window_ns >= 1000ull * CD__FIN_MS) {
        p->window_ns = now;
        p->heard = 0;
    }
    if (p->strikes != 0 && now - p->strike_ns >= (u64)FORGIVE_MS * CD__FIN_MS) {
        p->strikes--;
        p->strike_ns = now;
    }
    return now >= p->muted_ns && ++p->heard <= HEARD_MAX;
}

static void strike(cd_finality *f, const cd_node_id *from, u64 now)
{
    cd__fin_peer *p = peer_of(f, from);
    f->stats.refused++;
    p->strike_ns = now;
    if (++p->strikes >= STRIKES_MAX) {
        p->strikes = 0;
        p->muted_ns = now + (u64)MUTE_MS * CD__FIN_MS;
    }
}

static bool is_key(const cd_fin_says *s)
{
    return s->kind == CD_FIN_SAYS_KEY || s->kind == CD_FIN_SAYS_NEXT_KEY;
}

static cd__fin_fate deal_with(cd_finality *f, const cd_node_id *from, const cd_fin_says *s, u64 now)
{
    cd__fin_chain *c = chain_of(f, &s->chain);
    if (is_key(s)) {
        return cd__fin_on_key(f, from, s, now);
    }
    if (cd_hash32_eq(&s->chain, &cd_fin_epoch_chain)) {
        return cd__fin_on_turn(f, from, s);
    }
    if (c == NULL) {
        return CD__FIN_LATER;
    }
    switch (s->kind) {
    case CD_FIN_SAYS_SHARE:
        return cd__fin_on_share(f, c, from, s, now);
    case CD_FIN_SAYS_ROUND1:
        return cd__fin_on_round1(f, c, from, s, now);
    case CD_FIN_SAYS_ROUND2:
        return cd__fin_on_round2(f, c, from, s, now);
    case CD_FIN_SAYS_STAMP:
        return cd__fin_on_stamp(f, c, from, s, now);
    case CD_FIN_SAYS_CERT:
        return cd__fin_on_cert(f, c, s, now);
    case CD_FIN_SAYS_WANTED:
    case CD_FIN_SAYS_KEY:
    case CD_FIN_SAYS_NEXT_KEY:
        break;
    }
    return CD__FIN_REFUSED;
}

/* --- what came too early --- */

/* Keys wait longer: the epoch of their node begins when the P-Chain is there. */
static void hold(cd_finality *f, const cd_node_id *from, const cd_fin_says *s, cd_bytes bytes, u64 now)
{
    u32 cnt = 0;
    usize n = 0;
    bool is_signer = false;
    for (u32 i = 0; i < f->epochs.cnt && !is_signer; i++) {
        is_signer = cd_fin_set_find(&f->epochs.rows[i].set, from) != f->epochs.rows[i].set.cnt;
    }
    for (u32 i = 0; i < f->held_cnt; i++) {
        bool is_same = memcmp(&f->held[i]->from, from, sizeof *from) == 0;
        cnt += is_same;
        n += is_same ? f->held[i]->bytes.n : 0;
        if (is_same && cd_bytes_eq(cd_buf_bytes(&f->held[i]->bytes), bytes)) {
            return;
        }
    }
    if ((!is_signer && (!is_key(s) || cnt != 0)) || cnt >= HELD_OF_PEER || n + bytes.n > HELD_BYTES_OF_PEER ||
        f->held_cnt == CD__FIN_HELD_MAX || f->held_bytes + bytes.n > CD__FIN_HELD_BYTES) {
        return;
    }
    cd__fin_held *h = cd_new(cd__fin_held);
    u64 wait = is_key(s) ? LAST_MS : HOLD_MS;
    *h = (cd__fin_held){.from = *from, .chain = s->chain, .until_ns = now + wait * CD__FIN_MS};
    cd_buf_put(&h->bytes, bytes);
    f->held[f->held_cnt++] = h;
    f->held_bytes += bytes.n;
}

/* Looks at what is held for a chain again; what it leads to may make other messages useful. */
static void replay_chain(cd_finality *f, const cd_hash32 *chain, u64 now)
{
    for (u32 i = 0; i < f->held_cnt;) {
        cd__fin_held *h = f->held[i];
        cd_fin_says s;
        bool is_of_all = cd_hash32_is_zero(&h->chain) || cd_hash32_eq(&h->chain, &cd_fin_epoch_chain);
        if (now < h->until_ns && (!(cd_hash32_eq(&h->chain, chain) || is_of_all) ||
                                  (cd_fin_says_read(&s, cd_buf_bytes(&h->bytes)) == CD_OK &&
                                   deal_with(f, &h->from, &s, now) == CD__FIN_LATER))) {
            i++;
        } else {
            held_free(f, i);
        }
    }
}

void cd__fin_replay(cd_finality *f, u64 now)
{
    enum { TURNS_MAX = 16 };
    for (u32 turn = 0; turn < TURNS_MAX; turn++) {
        bool any = false;
        for (u32 i = 0; i < f->chain_cnt; i++) {
            if (f->chains[i]->has_news) {
                any = true;
                f->chains[i]->has_news = false;
                replay_chain(f, &f->chains[i]->id, now);
            }
        }
        if (!any) {
            return;
        }
    }
}

void cd_finality_hear(cd_finality *f, const cd_node_id *from, cd_bytes message, u64 now_ns)
{
    cd_fin_says s;
    if (!is_heard(f, from, now_ns)) {
        return;
    }
    if (cd_fin_says_read(&s, message) != CD_OK) {
        strike(f, from, now_ns);
        return;
    }
    cd__fin_fate fate = deal_with(f, from, &s, now_ns);
    if (fate == CD__FIN_REFUSED) {
        strike(f, from, now_ns);
    } else if (fate == CD__FIN_LATER) {
        hold(f, from, &s, message, now_ns);
    }
    cd__fin_replay(f, now_ns);
}

void cd_finality_answered(cd_finality *f, const cd_node_id *from, const cd_hash32 *chain, cd_bytes cert, u64 now_ns)
{
    const cd_fin_says s = {.kind = CD_FIN_SAYS_CERT, .chain = *chain, .bytes = cert};
    cd__fin_chain *c = chain_of(f, chain);
    bool is_turn = cd_hash32_eq(chain, &cd_fin_epoch_chain);
    if ((c != NULL || is_turn) && is_heard(f, from, now_ns)) {
        cd__fin_fate fate = is_turn ? cd__fin_on_turn(f, from, &s) : cd__fin_on_cert(f, c, &s, now_ns);
        if (fate == CD__FIN_REFUSED) {
            strike(f, from, now_ns);
        }
        cd__fin_replay(f, now_ns);
    }
}

void cd_finality_connected(cd_finality *f, const cd_node_id *node)
{
    cd_buf bytes = {0};
    if (cd__fin_announce(f, &bytes)) {
        f->cfg.out.tell(f->cfg.out.ctx, node, 1, cd_buf_bytes(&bytes));
    }
    cd_buf_fini(&bytes);
}

/* --- by the clock --- */

/* Sends shares again, and lets blocks go that nobody signs any more. */
static u64 blocks_tick(cd_finality *f, cd__fin_chain *c, u64 now)
{
    u64 next = UINT64_MAX;
    for (u32 i = 0; i < c->cnt;) {
        cd__fin_block *b = c->blocks[i];
        bool is_late = now - b->begun_ns >= (u64)CD_FINALITY_GIVE_UP_MS * CD__FIN_MS;
        bool is_over = b->is_done || (b->is_bls ? i + 1 != c->cnt && !b->wants_stamps : i + 1 != c->cnt);
        bool is_used = (c->session != NULL && c->session->block == b) || c->retry == b;
        if (is_late && is_over && !is_used) {
            block_drop(f, c, i);
            continue;
        }
        if (!b->is_bls && !b->is_done && b->signs && !is_late) {
            if (now >= b->resend_ns) {
                cd__fin_own_share(f, c, b, now);
            }
            next = cd_min_u64(next, b->resend_ns);
        }
        i++;
    }
    return next;
}

/* Asks somebody for the newest certificate, when this node makes none. */
static u64 asks_tick(cd_finality *f, cd__fin_chain *c, u64 now)
{
    const cd__fin_block *last = c->cnt == 0 ? NULL : c->blocks[c->cnt - 1];
    cd_fin_span *s = last == NULL || last->is_done ? NULL : cd__fin_span(f, last);
    if (s == NULL) {
        return UINT64_MAX;
    }
    bool is_signer = cd__fin_me(f, s) != s->set.cnt && last->signs;
    u64 due = cd_max_u64(c->ask_ns, (is_signer ? cd_max_u64(c->progress_ns, last->begun_ns) : last->begun_ns) +
                                        (u64)(is_signer ? PATIENCE_MS : ASK_MS) * CD__FIN_MS);
    if (now < due) {
        return due;
    }
    c->ask_ns = now + (u64)ASK_MS * CD__FIN_MS;
    const cd_node_id *who = &s->set.validators[cd_rng_below(f->cfg.rng, s->set.cnt)].node;
    if (memcmp(who, &f->cfg.self, sizeof *who) != 0) {
        cd_buf bytes = {0};
        const cd_fin_says says = {.kind = CD_FIN_SAYS_WANTED, .chain = c->id};
        cd_fin_says_put(&bytes, &says);
        f->cfg.out.ask(f->cfg.out.ctx, who, cd_buf_bytes(&bytes));
        cd_buf_fini(&bytes);
    }
    return c->ask_ns;
}

u64 cd_finality_tick(cd_finality *f, u64 now_ns)
{
    u64 next = cd__fin_turn_tick(f, now_ns);
    cd__fin_replay(f, now_ns);
    for (u32 i = 0; i < f->chain_cnt; i++) {
        cd__fin_chain *c = f->chains[i];
        next = cd_min_u64(next, blocks_tick(f, c, now_ns));
        next = cd_min_u64(next, cd__fin_rounds_tick(f, c, now_ns));
        next = cd_min_u64(next, cd__fin_stamps_tick(f, c, now_ns));
        next = cd_min_u64(next, asks_tick(f, c, now_ns));
        /* Holding ends some time later, and what was late may now be joined. */
        next = f->held_cnt == 0 && c->session == NULL ? next : cd_min_u64(next, now_ns + 250ull * CD__FIN_MS);
        c->has_news = c->has_news || c->session != NULL;
    }
    cd__fin_replay(f, now_ns);
    return next;
}
