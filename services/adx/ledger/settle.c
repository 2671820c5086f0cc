#include "services/adx/ledger/settle.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "codec/json.h"
#include "crypto/hash/keccak.h"
#include "num/u256_text.h"
#include "services/adx/ledger/ledger_priv.h"
#include "services/adx/ledger/wages.h"

enum { MAKE_MAX = 256, LEAVES_MAX = 4096, ADDRESS_TEXT = 42 };

#define SENDING "id, kind, state, ref, wallet, root, total, scale, cnt, nonce, raw, tx, made_ms, block, gas"

#define STATEMENTS(X)                                                                                                  \
    X(LOCK, "INSERT INTO settler (one, owner, until_ms) VALUES (1, ?1, ?2) ON CONFLICT (one) DO UPDATE SET owner ="    \
            " excluded.owner, until_ms = excluded.until_ms WHERE settler.owner = excluded.owner OR settler.until_ms <" \
            " ?3 RETURNING 1")                                                                                         \
    X(ADD, "INSERT INTO unsettled (campaign, publisher, amount, cnt) VALUES (?1, ?2, ?3, 1) ON CONFLICT (campaign,"    \
           " publisher) DO UPDATE SET amount = unsettled.amount + excluded.amount, cnt = unsettled.cnt + 1")           \
    X(CAMPAIGNS, "SELECT campaign FROM unsettled GROUP BY campaign ORDER BY campaign LIMIT 256")                       \
    X(UNSETTLED, "SELECT publisher, amount, cnt FROM unsettled WHERE campaign = ?1 ORDER BY publisher LIMIT 4096")     \
    X(TAKE, "DELETE FROM unsettled WHERE campaign = ?1 AND publisher = ?2")                                            \
    X(NEW, "INSERT INTO sendings (kind, state, ref, wallet, root, total, scale, cnt, nonce, raw, tx, made_ms,"         \
           " after_ms, block, gas, trouble) VALUES (?1, 0, ?2, ?3, ?4, ?5, ?6, ?7, 0, NULL, NULL, ?8, 0, 0, 0, '')"    \
           " RETURNING id")                                                                                            \
    X(LEAF, "INSERT INTO leaves (sending, idx, reservation, publisher, amount) VALUES (?1, ?2, ?3, ?4, ?5)")           \
    X(LEAVES, "SELECT reservation, publisher, amount FROM leaves WHERE sending = ?1 ORDER BY idx")                     \
    X(OWED,                                                                                                            \
      "SELECT name, amount, wallet FROM accounts JOIN miners ON name = 'miner/' || id WHERE amount >= ?1 AND NOT"      \
      " EXISTS (SELECT 1 FROM sendings WHERE kind = 1 AND state < 2 AND ref = miners.id) LIMIT 64")                    \
    X(NEXT, "SELECT " SENDING " FROM sendings WHERE state < 2 AND after_ms <= ?1 ORDER BY id LIMIT 1")                 \
    X(ONE, "SELECT " SENDING " FROM sendings WHERE id = ?1")                                                           \
    X(LIST, "SELECT " SENDING " FROM sendings ORDER BY id DESC LIMIT ?1")                                              \
    X(SIGNED,                                                                                                          \
      "UPDATE sendings SET state = 1, nonce = ?2, raw = ?3, tx = ?4, trouble = '' WHERE id = ?1 AND state < 2")        \
    X(LATER, "UPDATE sendings SET after_ms = ?2, trouble = ?3 WHERE id = ?1")                                          \
    X(ANEW, "UPDATE sendings SET state = 0, raw = NULL, tx = NULL WHERE id = ?1 AND state = 1")                        \
    X(DONE, "UPDATE sendings SET state = 2, block = ?2, gas = ?3, raw = NULL, trouble = '' WHERE id = ?1")             \
    X(SUM_UNSETTLED, "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM unsettled")                                 \
    X(SUM_KIND,                                                                                                        \
      "SELECT CAST(COALESCE(SUM(total), 0) AS BIGINT), COUNT(*) FROM sendings WHERE state = 2 AND kind = ?1")          \
    X(SUM_OPEN, "SELECT CAST(COALESCE(SUM(total), 0) AS BIGINT), COUNT(*) FROM sendings WHERE state < 2")              \
    X(TROUBLE, "SELECT trouble FROM sendings WHERE state < 2 AND trouble <> '' ORDER BY id LIMIT 1")                   \
    X(SETTLED,                                                                                                         \
      "SELECT ref, CAST(SUM(total) AS BIGINT), MAX(scale) FROM sendings WHERE state = 2 AND kind = 0 GROUP BY"         \
      " ref ORDER BY ref LIMIT ?1")                                                                                    \
    X(CLAIMS, "SELECT DISTINCT sending FROM leaves JOIN sendings ON sendings.id = leaves.sending WHERE state = 2 AND"  \
              " publisher = ?1 ORDER BY sending DESC LIMIT ?2")

enum { STATEMENTS(CD__ST_NAME) ST_CNT };
static const char *const texts[] = {STATEMENTS(CD__ST_TEXT)};

cd_err cd__settle_open(cd_ledger *l, cd_errinfo *why)
{
    return cd__ledger_prepare(&l->settle, l, texts, CD_COUNT(texts), why);
}

/* --- what is on its way --- */

static bool address_of(cd_addr20 *out, const char *text)
{
    return strlen(text) == ADDRESS_TEXT && text[0] == '0' && (text[1] | 0x20) == 'x' &&
           cd_hex_parse(out->b, cd_bytes_of(text + 2, 40)) == CD_OK;
}

cd_err cd__settle_billed(cd_ledger *l, const cd_bill *b, cd_errinfo *why)
{
    cd_addr20 publisher;
    if (!b->is_campaign || b->amount == 0 || !address_of(&publisher, b->publisher)) {
        return CD_OK; // nobody on the chain
    }
    return CD_SQL_RUN(l->settle[ST_ADD], why, cd_sql_t(b->payer), cd_sql_t(b->publisher), cd_sql_i(b->amount));
}

cd_err cd_settle_lock(cd_ledger *l, bool *is_mine, const char *owner, u64 now_ms, u64 hold_ms, cd_errinfo *why)
{
    cd_sql_stmt *st = l->settle[ST_LOCK];
    bool more = false;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_t(owner), cd_sql_u(now_ms + hold_ms), cd_sql_u(now_ms)));
    CD_TRY(cd_sql_next(st, is_mine, why));
    return *is_mine ? cd_sql_next(st, &more, why) : CD_OK;
}

/* --- leaves --- */

cd_u256 cd_settle_units(i64 nano, u64 scale)
{
    cd_u256 v = cd_u256_from_u64((u64)nano);
    (void)cd_u256_mul_u64(&v, &v, scale);
    return v;
}

void cd_settle_campaign_id(cd_hash32 *out, const char *campaign)
{
    usize n = strlen(campaign);
    if (n == 66 && campaign[0] == '0' && campaign[1] == 'x' &&
        cd_hex_parse(out->b, cd_bytes_of(campaign + 2, 64)) == CD_OK) {
        return;
    }
    cd_keccak256(out, cd_bytes_of(campaign, n));
}

typedef struct leaf {
    cd_hash32 reservation;
    char publisher[CD_LEDGER_ID_MAX + 1];
    i64 amount;
    u64 cnt;
} leaf;

static void hash_leaf(cd_hash32 *out, const leaf *f, u64 scale)
{
    u8 bytes[32 + 20 + 32];
    cd_addr20 publisher = {0};
    cd_u256 units = cd_settle_units(f->amount, scale);
    bool is_address = address_of(&publisher, f->publisher);
    CD_ASSERT(is_address);
    memcpy(bytes, f->reservation.b, 32);
    memcpy(bytes + 32, publisher.b, 20);
    cd_u256_store_be(bytes + 52, &units);
    cd_keccak256(out, cd_bytes_of(bytes, sizeof bytes));
}

static void hash_pair(cd_hash32 *out, const cd_hash32 *a, const cd_hash32 *b)
{
    u8 bytes[64];
    bool is_sorted = memcmp(a->b, b->b, 32) < 0;
    memcpy(bytes, is_sorted ? a->b : b->b, 32);
    memcpy(bytes + 32, is_sorted ? b->b : a->b, 32);
    cd_keccak256(out, cd_bytes_of(bytes, sizeof bytes));
}

/* The root over cnt hashes, which it overwrites. The siblings of the one at `of` are written to proof where that is not
 * NULL (room for 32). */
static usize climb(cd_hash32 *root, cd_hash32 *h, usize cnt, usize of, cd_hash32 *proof)
{
    usize n = 0;
    while (cnt > 1) {
        if (proof != NULL && (of ^ 1) < cnt) {
            proof[n++] = h[of ^ 1];
        }
        for (usize i = 0; i + 1 < cnt; i += 2) {
            hash_pair(&h[i / 2], &h[i], &h[i + 1]);
        }
        if (cnt % 2 == 1) {
            h[cnt / 2] = h[cnt - 1];
        }
        cnt = (cnt + 1) / 2;
        of /= 2;
    }
    *root = h[0];
    return n;
}

/* A number for a leaf that no other has, of this ledger or another: the journal's head grows with every row. */
static void name_leaf(leaf *f, const cd_ledger *l, const char *campaign, i64 sending, usize idx)
{
    cd_buf text = {0};
    cd_buf_str(&text, "adx/settlement/v1");
    cd_buf_put(&text, cd_bytes_of(l->hash.b, 32));
    cd_buf_fmt(&text, "%s/%lld/%zu/%s", campaign, (long long)sending, idx, f->publisher);
    cd_keccak256(&f->reservation, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

static void copy_text(char *out, usize max, cd_bytes from)
{
    usize n = from.n < max ? from.n : max;
    if (n != 0) {
        memcpy(out, from.p, n);
    }
    out[n] = '\0';
}

/* --- making --- */

static cd_err new_sending(cd_ledger *l, i64 *id, const cd_sending *s, cd_errinfo *why)
{
    const cd_sql_val vals[] = {cd_sql_i(s->kind),
                               cd_sql_t(s->ref),
                               cd_sql_b(cd_bytes_of(s->wallet.b, 20)),
                               cd_sql_b(cd_bytes_of(s->root.b, 32)),
                               cd_sql_i(s->total),
                               cd_sql_u(s->scale),
                               cd_sql_u(s->cnt),
                               cd_sql_u(s->made_ms)};
    return cd__ledger_number(l->settle[ST_NEW], id, vals, CD_COUNT(vals), why);
}

static cd_err read_unsettled(cd_ledger *l, leaf *leaves, usize *cnt, const char *campaign, cd_errinfo *why)
{
    cd_sql_stmt *st = l->settle[ST_UNSETTLED];
    bool is_row = true;
    *cnt = 0;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_t(campaign)));
    while (true) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        CD_ASSERT(*cnt < LEAVES_MAX);
        leaf *f = &leaves[(*cnt)++];
        copy_text(f->publisher, CD_LEDGER_ID_MAX, cd_sql_col_b(st, 0));
        f->amount = cd_sql_col_i(st, 1);
        f->cnt = cd_sql_col_u(st, 2);
    }
}

/* The root is part of the sending's row, and each leaf's name of its number; so both are drawn from the head before. */
static cd_err make_batch(cd_ledger *l, const char *campaign, u64 scale, u64 now_ms, cd_errinfo *why)
{
    cd_arena mem = {0};
    leaf *leaves = cd_arena_array(&mem, leaf, LEAVES_MAX);
    cd_hash32 *hashes = cd_arena_array(&mem, cd_hash32, LEAVES_MAX);
    cd_sending s = {.kind = CD_SENDING_BATCH, .scale = scale, .made_ms = now_ms};
    usize cnt;
    i64 id;
    copy_text(s.ref, CD_LEDGER_ID_MAX, cd_bytes_str(campaign));
    cd_err err = read_unsettled(l, leaves, &cnt, campaign, why);
    for (usize i = 0; i < cnt && err == CD_OK; i++) {
        name_leaf(&leaves[i], l, campaign, (i64)now_ms, i);
        hash_leaf(&hashes[i], &leaves[i], scale);
        s.total += leaves[i].amount;
        s.cnt += leaves[i].cnt;
        err = CD_SQL_RUN(l->settle[ST_TAKE], why, cd_sql_t(campaign), cd_sql_t(leaves[i].publisher));
    }
    if (err == CD_OK) {
        (void)climb(&s.root, hashes, cnt, 0, NULL);
        err = new_sending(l, &id, &s, why);
    }
    for (usize i = 0; i < cnt && err == CD_OK; i++) {
        err = CD_SQL_RUN(l->settle[ST_LEAF], why, cd_sql_i(id), cd_sql_u(i),
                         cd_sql_b(cd_bytes_of(leaves[i].reservation.b, 32)), cd_sql_t(leaves[i].publisher),
                         cd_sql_i(leaves[i].amount));
    }
    if (err == CD_OK) { // a row of the journal: the next batch has another head to draw names from
        const cd__posting list[] = {cd__posting_of("settling/", campaign, -s.total),
                                    cd__posting_of("tochain/", campaign, s.total)};
        err = cd__ledger_post(l, "batch", cd_bytes_of(s.root.b, 32), list, CD_COUNT(list), now_ms, why);
    }
    cd_arena_fini(&mem);
    return err;
}

static cd_err make_payouts(cd_ledger *l, usize *made, i64 least, u64 scale, u64 now_ms, cd_errinfo *why)
{
    cd_sql_stmt *st = l->settle[ST_OWED];
    cd_sending due[64];
    usize cnt = 0;
    bool is_row = true;
    i64 id;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_i(least)));
    while (is_row) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (is_row && cnt < CD_COUNT(due)) {
            cd_sending *s = &due[cnt];
            char wallet[ADDRESS_TEXT + 1];
            cd_bytes name = cd_sql_col_b(st, 0);
            *s = (cd_sending){
                .kind = CD_SENDING_PAYOUT, .total = cd_sql_col_i(st, 1), .scale = scale, .made_ms = now_ms};
            copy_text(s->ref, CD_MINER_ID_LEN, cd_bytes_sub(name, 6, name.n - 6));
            copy_text(wallet, ADDRESS_TEXT, cd_sql_col_b(st, 2));
            cnt += address_of(&s->wallet, wallet) ? 1 : 0;
        }
    }
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(new_sending(l, &id, &due[i], why));
    }
    *made += cnt;
    return CD_OK;
}

cd_err cd_settle_make(cd_ledger *l, usize *cnt, u64 scale, i64 payout_min, u64 now_ms, cd_errinfo *why)
{
    char(*campaigns)[CD_LEDGER_ID_MAX + 1] = cd_alloc(MAKE_MAX * sizeof *campaigns);
    cd_sql_stmt *st = l->settle[ST_CAMPAIGNS];
    bool is_row = true;
    usize n = 0;
    *cnt = 0;
    cd_err err = cd_sql_query_n(st, NULL, 0, why);
    while (err == CD_OK && is_row) {
        err = cd_sql_next(st, &is_row, why);
        if (err == CD_OK && is_row && n < MAKE_MAX) {
            copy_text(campaigns[n++], CD_LEDGER_ID_MAX, cd_sql_col_b(st, 0));
        }
    }
    for (usize i = 0; i < n && err == CD_OK; i++) {
        err = make_batch(l, campaigns[i], scale, now_ms, why);
    }
    cd_free(campaigns);
    if (err == CD_OK) {
        *cnt = n;
        err = payout_min == 0 ? CD_OK : make_payouts(l, cnt, payout_min, scale, now_ms, why);
    }
    return err;
}

/* --- their way --- */

static void take_fixed(void *out, usize n, cd_bytes b)
{
    memset(out, 0, n);
    if (b.n == n) {
        memcpy(out, b.p, n);
    }
}

static void read_sending(cd_sending *out, cd_sql_stmt *st, cd_arena *mem)
{
    *out = (cd_sending){.id = cd_sql_col_i(st, 0),
                        .kind = cd_sql_col_i(st, 1) == 0 ? CD_SENDING_BATCH : CD_SENDING_PAYOUT,
                        .state = (cd_sending_state)cd_sql_col_i(st, 2),
                        .total = cd_sql_col_i(st, 6),
                        .scale = cd_sql_col_u(st, 7),
                        .cnt = cd_sql_col_u(st, 8),
                        .nonce = cd_sql_col_u(st, 9),
                        .made_ms = cd_sql_col_u(st, 12),
                        .block = cd_sql_col_u(st, 13),
                        .gas = cd_sql_col_u(st, 14)};
    copy_text(out->ref, CD_LEDGER_ID_MAX, cd_sql_col_b(st, 3));
    take_fixed(out->wallet.b, 20, cd_sql_col_b(st, 4));
    take_fixed(out->root.b, 32, cd_sql_col_b(st, 5));
    take_fixed(out->tx.b, 32, cd_sql_col_b(st, 11));
    if (mem != NULL) {
        out->raw = cd_arena_dup(mem, cd_sql_col_b(st, 10));
    }
}

static cd_err one_sending(cd_ledger *l, int which, cd_sending *out, cd_arena *mem, cd_sql_val key, cd_errinfo *why)
{
    cd_sql_stmt *st = l->settle[which];
    bool is_row;
    CD_TRY(cd_sql_query_n(st, &key, 1, why));
    CD_TRY(cd_sql_next(st, &is_row, why));
    if (!is_row) {
        return cd_fail(why, CD_ENOENT, "nothing is to be sent");
    }
    read_sending(out, st, mem);
    return cd_sql_next(st, &is_row, why);
}

cd_err cd_settle_next(cd_ledger *l, cd_sending *out, cd_arena *mem, u64 now_ms, cd_errinfo *why)
{
    return one_sending(l, ST_NEXT, out, mem, cd_sql_u(now_ms), why);
}

cd_err cd_settle_signed(cd_ledger *l, i64 id, u64 nonce, cd_bytes raw, const cd_hash32 *tx, cd_errinfo *why)
{
    return CD_SQL_RUN(l->settle[ST_SIGNED], why, cd_sql_i(id), cd_sql_u(nonce), cd_sql_b(raw),
                      cd_sql_b(cd_bytes_of(tx->b, 32)));
}

cd_err cd_settle_later(cd_ledger *l, i64 id, u64 after_ms, bool is_anew, const char *trouble, cd_errinfo *why)
{
    char text[160];
    copy_text(text, sizeof text - 1, cd_bytes_str(trouble));
    CD_TRY(CD_SQL_RUN(l->settle[ST_LATER], why, cd_sql_i(id), cd_sql_u(after_ms), cd_sql_t(text)));
    return is_anew ? CD_SQL_RUN(l->settle[ST_ANEW], why, cd_sql_i(id)) : CD_OK;
}

cd_err cd_settle_done(cd_ledger *l, i64 id, u64 block, u64 gas, u64 now_ms, cd_errinfo *why)
{
    cd_sending s;
    CD_TRY(one_sending(l, ST_ONE, &s, NULL, cd_sql_i(id), why));
    if (s.state == CD_SENDING_DONE) {
        return CD_OK;
    }
    CD_TRY(CD_SQL_RUN(l->settle[ST_DONE], why, cd_sql_i(id), cd_sql_u(block), cd_sql_u(gas)));
    if (s.kind == CD_SENDING_PAYOUT) {
        return cd_wages_pay(l, s.ref, s.total, cd_bytes_of(s.tx.b, 32), now_ms, why);
    }
    const cd__posting list[] = {cd__posting_of("tochain/", s.ref, -s.total),
                                cd__posting_of("onchain/", s.ref, s.total)};
    return cd__ledger_post(l, "settled", cd_bytes_of(s.root.b, 32), list, CD_COUNT(list), now_ms, why);
}

/* --- how it stands --- */

static cd_err two_numbers(cd_ledger *l, int which, i64 *sum, u64 *cnt, const cd_sql_val *vals, usize vals_cnt,
                          cd_errinfo *why)
{
    cd_sql_stmt *st = l->settle[which];
    bool is_row;
    CD_TRY(cd_sql_query_n(st, vals, vals_cnt, why));
    CD_TRY(cd_sql_next(st, &is_row, why));
    *sum = cd_sql_col_i(st, 0);
    *cnt += cd_sql_col_u(st, 1);
    return cd_sql_next(st, &is_row, why);
}

cd_err cd_settle_sum(cd_ledger *l, cd_settle_sums *out, cd_errinfo *why)
{
    const cd_sql_val batches = cd_sql_i(CD_SENDING_BATCH);
    const cd_sql_val payouts = cd_sql_i(CD_SENDING_PAYOUT);
    cd_sql_stmt *st = l->settle[ST_TROUBLE];
    bool is_row;
    *out = (cd_settle_sums){0};
    CD_TRY(cd__ledger_number(l->settle[ST_SUM_UNSETTLED], &out->unsettled, NULL, 0, why));
    CD_TRY(two_numbers(l, ST_SUM_KIND, &out->settled, &out->sendings, &batches, 1, why));
    CD_TRY(two_numbers(l, ST_SUM_KIND, &out->paid_out, &out->sendings, &payouts, 1, why));
    CD_TRY(two_numbers(l, ST_SUM_OPEN, &out->waiting, &out->open, NULL, 0, why));
    CD_TRY(cd_sql_query_n(st, NULL, 0, why));
    CD_TRY(cd_sql_next(st, &is_row, why));
    if (is_row) {
        copy_text(out->trouble, sizeof out->trouble - 1, cd_sql_col_b(st, 0));
        CD_TRY(cd_sql_next(st, &is_row, why));
    }
    return CD_OK;
}

cd_err cd_settle_list(cd_ledger *l, cd_sending *out, usize *cnt, usize max, cd_errinfo *why)
{
    cd_sql_stmt *st = l->settle[ST_LIST];
    bool is_row = true;
    *cnt = 0;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_u(max)));
    while (true) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        CD_ASSERT(*cnt < max);
        read_sending(&out[(*cnt)++], st, NULL);
    }
}

cd_err cd_settle_campaigns(cd_ledger *l, cd_settled *out, usize *cnt, usize max, cd_errinfo *why)
{
    cd_sql_stmt *st = l->settle[ST_SETTLED];
    bool is_row = true;
    *cnt = 0;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_u(max)));
    while (true) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        CD_ASSERT(*cnt < max);
        cd_settled *s = &out[(*cnt)++];
        copy_text(s->campaign, CD_LEDGER_ID_MAX, cd_sql_col_b(st, 0));
        s->amount = cd_sql_col_i(st, 1);
        s->scale = cd_sql_col_u(st, 2);
    }
}

/* --- claims --- */

static cd_err read_leaves(cd_ledger *l, leaf *leaves, usize *cnt, i64 sending, cd_errinfo *why)
{
    cd_sql_stmt *st = l->settle[ST_LEAVES];
    bool is_row = true;
    *cnt = 0;
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_i(sending)));
    while (true) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        CD_ASSERT(*cnt < LEAVES_MAX);
        leaf *f = &leaves[(*cnt)++];
        take_fixed(f->reservation.b, 32, cd_sql_col_b(st, 0));
        copy_text(f->publisher, CD_LEDGER_ID_MAX, cd_sql_col_b(st, 1));
        f->amount = cd_sql_col_i(st, 2);
    }
}

static void put_claim(cd_json_w *w, const leaf *f, const cd_hash32 *root, u64 scale, const cd_hash32 *proof, usize n)
{
    cd_u256 units = cd_settle_units(f->amount, scale);
    char text[CD_U256_TEXT_MAX];
    cd_json_w_obj(w);
    cd_json_put_hash(w, "merkleRoot", root);
    cd_json_put_hash(w, "reservationId", &f->reservation);
    cd_json_put_cstr(w, "publisher", f->publisher);
    cd_json_put_str(w, "amount", cd_bytes_of(text, cd_u256_fmt_dec(text, &units)));
    cd_json_w_key(w, "proof");
    cd_json_w_arr(w);
    for (usize i = 0; i < n; i++) {
        cd_json_w_hex(w, cd_bytes_of(proof[i].b, 32));
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
}

static cd_err claims_of(cd_ledger *l, cd_json_w *w, i64 sending, const char *publisher, cd_errinfo *why)
{
    cd_arena mem = {0};
    leaf *leaves = cd_arena_array(&mem, leaf, LEAVES_MAX);
    cd_hash32 *hashes = cd_arena_array(&mem, cd_hash32, LEAVES_MAX);
    cd_hash32 proof[32];
    cd_hash32 root;
    cd_sending s;
    usize cnt = 0;
    cd_err err = one_sending(l, ST_ONE, &s, NULL, cd_sql_i(sending), why);
    err = err == CD_OK ? read_leaves(l, leaves, &cnt, sending, why) : err;
    for (usize of = 0; of < cnt && err == CD_OK; of++) {
        if (strcmp(leaves[of].publisher, publisher) != 0) {
            continue;
        }
        for (usize i = 0; i < cnt; i++) {
            hash_leaf(&hashes[i], &leaves[i], s.scale);
        }
        usize n = climb(&root, hashes, cnt, of, proof);
        put_claim(w, &leaves[of], &root, s.scale, proof, n);
    }
    cd_arena_fini(&mem);
    return err;
}

cd_err cd_settle_claims(cd_ledger *l, cd_buf *json, const char *publisher, usize max, cd_errinfo *why)
{
    cd_sql_stmt *st = l->settle[ST_CLAIMS];
    i64 ids[256];
    usize cnt = 0;
    bool is_row = true;
    cd_json_w w = {.out = json};
    usize most = max < CD_COUNT(ids) ? max : CD_COUNT(ids);
    CD_TRY(CD_SQL_QUERY(st, why, cd_sql_t(publisher), cd_sql_u(most)));
    while (is_row) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (is_row && cnt < most) {
            ids[cnt++] = cd_sql_col_i(st, 0);
        }
    }
    cd_json_w_arr(&w);
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(claims_of(l, &w, ids[i], publisher, why));
    }
    cd_json_w_arr_end(&w);
    return CD_OK;
}
