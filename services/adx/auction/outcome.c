#include "services/adx/auction/outcome.h"

#include "base/mem/mem.h"
#include "base/mem/secret.h"

#define PART_MAX CD_RANGEPROOF_PARTIES_MAX /* statements in one proof */

u64 cd_outcome_fee(const cd_outcome *o)
{
    return o->is_void ? 0 : o->price / 1000;
}

/* Statements of an outcome: bids whose difference from the price is proven not to be negative, winner first. */
static u32 statements(u32 *out, const cd_outcome *o)
{
    u32 n = 0;
    if (!o->is_void) {
        out[n++] = o->winner;
    }
    for (u32 i = 0; i < o->cnt; i++) {
        if (!o->is_forfeited[i] && i != o->winner && i != o->second) {
            out[n++] = i;
        }
    }
    return n;
}

/* What all bids but the winner's are at most. */
static u64 ceiling(const cd_outcome *o)
{
    return o->is_void ? o->reserve - 1 : o->price;
}

static void begin_transcript(cd_merlin *t, const cd_outcome *o)
{
    cd_merlin_init(t, "adx/outcome/v1");
    cd_merlin_append(t, "auction", cd_bytes_of(o->auction.b, 32));
    cd_merlin_append(t, "bidlog", cd_bytes_of(o->log_head.b, 32));
    cd_merlin_append_u64(t, "reserve", o->reserve);
    cd_merlin_append_u64(t, "price", o->price);
    cd_merlin_append_u64(t, "winner", o->winner == CD_OUTCOME_NOBODY ? UINT64_MAX : o->winner);
    cd_merlin_append_u64(t, "second", o->second == CD_OUTCOME_NOBODY ? UINT64_MAX : o->second);
}

/* The parts that n statements are proven in, and the commitments of part i, padded to a power of two. */
static u32 part_count(u32 n)
{
    return n <= PART_MAX ? 1 : (n + PART_MAX - 1) / PART_MAX;
}

static u32 part_size(u32 n, u32 part)
{
    u32 left = n - part * PART_MAX;
    u32 size = 1;
    while (size < left && size < PART_MAX) {
        size *= 2;
    }
    return size;
}

static void part_transcript(cd_merlin *t, const cd_outcome *o, u32 parts, u32 part)
{
    begin_transcript(t, o);
    if (parts > 1) {
        cd_merlin_append_u64(t, "part", part);
    }
}

/* --- settling --- */

/* The best and the second-best opened bid; of equals the earlier. */
static void rank(u32 *best, u32 *next, const bool *is_forfeited, const cd_opening *o, u32 cnt)
{
    *best = *next = CD_OUTCOME_NOBODY;
    for (u32 i = 0; i < cnt; i++) {
        if (is_forfeited[i]) {
            continue;
        }
        if (*best == CD_OUTCOME_NOBODY || o[i].value > o[*best].value) {
            *next = *best;
            *best = i;
        } else if (*next == CD_OUTCOME_NOBODY || o[i].value > o[*next].value) {
            *next = i;
        }
    }
}

static void prove(cd_outcome *o, cd_arena *a, const cd_opening *openings, cd_rng *rng)
{
    u32 *who = cd_new_array(u32, o->cnt + 1);
    u32 n = statements(who, o);
    u32 parts = part_count(n);
    u8 *proof = cd_arena_alloc(a, (usize)parts * CD_RANGEPROOF_SIZE_MAX);
    usize at = 0;
    for (u32 part = 0; part < parts; part++) {
        u64 value[PART_MAX] = {0};
        cd_scalar blinding[PART_MAX] = {{{0}}};
        cd_merlin t;
        for (u32 i = 0; i < PART_MAX && part * PART_MAX + i < n; i++) {
            u32 seq = who[part * PART_MAX + i];
            const cd_opening *x = &openings[seq];
            bool is_winner = seq == o->winner;
            value[i] = is_winner ? x->value - o->price : ceiling(o) - x->value;
            blinding[i] = is_winner ? x->blinding : cd_scalar_neg(&x->blinding);
        }
        part_transcript(&t, o, parts, part);
        cd_rangeproof_prove(proof + at, &t, value, blinding, part_size(n, part), rng);
        at += cd_rangeproof_size(part_size(n, part));
        cd_wipe(value, sizeof value);
        cd_wipe(blinding, sizeof blinding);
    }
    o->proof = cd_bytes_of(proof, at);
    cd_free(who);
}

void cd_outcome_settle(cd_outcome *out, cd_arena *a, const cd_hash32 *auction, u64 reserve, const cd_sealed *bids,
                       const bool *is_forfeited, const cd_opening *openings, u32 cnt, cd_rng *rng)
{
    u32 best;
    u32 next;
    CD_ASSERT(cnt <= CD_AUCTION_BIDS_MAX);
    *out =
        (cd_outcome){.auction = *auction, .reserve = reserve, .cnt = cnt, .bids = bids, .is_forfeited = is_forfeited};
    cd_bidlog_init(&out->log_head, auction);
    for (u32 i = 0; i < cnt; i++) {
        cd_bidlog_add(&out->log_head, &bids[i]);
    }
    rank(&best, &next, is_forfeited, openings, cnt);
    out->is_void = best == CD_OUTCOME_NOBODY || openings[best].value < reserve;
    out->winner = out->is_void ? CD_OUTCOME_NOBODY : best;
    out->second = CD_OUTCOME_NOBODY;
    out->price = reserve;
    if (!out->is_void && next != CD_OUTCOME_NOBODY && openings[next].value >= reserve) {
        out->second = next;
        out->price = openings[next].value;
        out->second_blinding = openings[next].blinding;
    }
    prove(out, a, openings, rng);
}

/* --- verifying --- */

static cd_err check_numbers(const cd_outcome *o, cd_errinfo *why)
{
    if (o->cnt > CD_AUCTION_BIDS_MAX) {
        return cd_fail(why, CD_EFORMAT, "too many bids");
    }
    if (o->is_void != (o->winner == CD_OUTCOME_NOBODY) || (o->is_void && o->second != CD_OUTCOME_NOBODY)) {
        return cd_fail(why, CD_EFORMAT, "status and winner contradict each other");
    }
    if (!o->is_void && (o->winner >= o->cnt || o->is_forfeited[o->winner])) {
        return cd_fail(why, CD_EFORMAT, "the winner is no opened bid");
    }
    bool has_second = o->second != CD_OUTCOME_NOBODY;
    if (has_second && (o->second >= o->cnt || o->second == o->winner || o->is_forfeited[o->second])) {
        return cd_fail(why, CD_EFORMAT, "who set the price is no other opened bid");
    }
    if (o->price < o->reserve || (!has_second && o->price != o->reserve)) {
        return cd_fail(why, CD_EFORMAT, "the price is neither the reserve nor a bid above it");
    }
    return CD_OK;
}

static cd_err check_log(const cd_outcome *o, cd_errinfo *why)
{
    cd_hash32 h;
    cd_bidlog_init(&h, &o->auction);
    for (u32 i = 0; i < o->cnt; i++) {
        cd_bidlog_add(&h, &o->bids[i]);
    }
    return cd_hash32_eq(&h, &o->log_head) ? CD_OK : cd_fail(why, CD_EPROOF, "log_head does not follow from bids");
}

/* value * B; the value is public. */
static void of_base(cd_point *out, u64 value)
{
    cd_scalar k = cd_scalar_u64(value);
    cd_point_mul(out, &k, &CD_POINT_BASE);
}

/* The commitments that a proof speaks of, in its order; room for all parts, padding included. */
static cd_err derive(cd_hash32 *out, const cd_outcome *o, const u32 *who, u32 n)
{
    cd_point limit;
    cd_point price;
    of_base(&limit, ceiling(o));
    of_base(&price, o->price);
    for (u32 i = 0; i < n; i++) {
        cd_point c;
        cd_point d;
        CD_TRY(cd_point_get(&c, o->bids[who[i]].commitment.b));
        if (who[i] == o->winner) {
            cd_point_sub(&d, &c, &price);
        } else {
            cd_point_sub(&d, &limit, &c);
        }
        cd_point_put(out[i].b, &d);
    }
    return CD_OK;
}

static cd_err check_parts(const cd_outcome *o, const cd_hash32 *commitment, u32 n)
{
    u32 parts = part_count(n);
    usize at = 0;
    cd_err e = CD_OK;
    cd_merlin *t = cd_new_array(cd_merlin, parts);
    cd_rangeproof_claim *claims = cd_new_array(cd_rangeproof_claim, parts);
    for (u32 part = 0; part < parts; part++) {
        u32 size = part_size(n, part);
        usize bytes = cd_rangeproof_size(size);
        if (o->proof.n - at < bytes) {
            e = CD_EFORMAT;
            goto out;
        }
        part_transcript(&t[part], o, parts, part);
        claims[part] = (cd_rangeproof_claim){.transcript = &t[part],
                                             .commitment = commitment + (usize)part * PART_MAX,
                                             .cnt = size,
                                             .proof = cd_bytes_sub(o->proof, at, bytes)};
        at += bytes;
    }
    e = at == o->proof.n ? cd_rangeproof_verify_many(claims, parts) : CD_EFORMAT;
out:
    cd_free(claims);
    cd_free(t);
    return e;
}

static cd_err check_proof(const cd_outcome *o, cd_errinfo *why)
{
    u32 *who = cd_new_array(u32, o->cnt + 1);
    u32 n = statements(who, o);
    cd_hash32 *commitment = cd_new_array(cd_hash32, (usize)part_count(n) * PART_MAX);
    cd_err e = derive(commitment, o, who, n);
    if (e == CD_OK && o->is_void && o->reserve == 0 && n != 0) {
        e = CD_EPROOF; /* every bid reaches a reserve of nothing */
    }
    if (e == CD_OK) {
        e = check_parts(o, commitment, n);
    }
    cd_free(commitment);
    cd_free(who);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "the proof does not hold: %s", cd_err_str(e));
}

cd_err cd_outcome_verify(const cd_outcome *o, cd_errinfo *why)
{
    CD_TRY(check_numbers(o, why));
    CD_TRY(check_log(o, why));
    if (o->second != CD_OUTCOME_NOBODY) {
        cd_opening second = {.value = o->price, .blinding = o->second_blinding};
        if (!cd_opening_fits(&second, &o->bids[o->second].commitment)) {
            return cd_fail(why, CD_EPROOF, "second_blinding does not open the bid that set the price");
        }
    }
    return check_proof(o, why);
}

cd_err cd_outcome_holds(const cd_outcome *o, const cd_receipt *r, const u8 public[32], cd_errinfo *why)
{
    cd_err e = cd_receipt_verify(r, public);
    if (e != CD_OK) {
        return cd_fail(why, e, "not a receipt of this exchange");
    }
    if (!cd_hash32_eq(&o->auction, &r->auction)) {
        return cd_fail(why, CD_EINVAL, "a receipt of another auction");
    }
    if (r->seq >= o->cnt) {
        return cd_fail(why, CD_EPROOF, "the bid was left out");
    }
    cd_hash32 h;
    cd_bidlog_init(&h, &o->auction);
    for (u32 i = 0; i <= r->seq; i++) {
        cd_bidlog_add(&h, &o->bids[i]);
    }
    if (!cd_hash32_eq(&o->bids[r->seq].commitment, &r->commitment)) {
        return cd_fail(why, CD_EPROOF, "another bid stands in its place");
    }
    return cd_hash32_eq(&h, &r->log_head) ? CD_OK : cd_fail(why, CD_EPROOF, "the log was changed behind the receipt");
}

cd_err cd_outcome_min_to_win(u64 *out, const cd_outcome *o, u32 seq)
{
    *out = o->price;
    return seq < o->cnt && !o->is_void ? CD_OK : CD_ENOENT;
}
