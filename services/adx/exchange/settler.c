#include "services/adx/exchange/settler.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/os/fileio.h"
#include "base/os/rng.h"
#include "base/text.h"
#include "base/version.h"
#include "crypto/ec/secp256k1.h"
#include "crypto/hash/keccak.h"
#include "services/common/upstream.h"
#include "types/tx_codec.h"

#include <sys/stat.h>

enum {
    TICK_MS = 1000,
    HOLD_MS = 15000, /* who settles says so again by then */
    RETRY_MS = 15000,
    GONE_MS = 30000, /* a used nonce without a receipt: the node may be behind */
    RPC_MS = 10000,
    ANSWER_MAX = 1 << 20,
    ASKS_MAX = 5,
    WORDS_MAX = 4,
    GAS_MAX = 2000000,
    GAS_SLACK_PERCENT = 30,
    KEY_TEXT_MAX = 128,
};

/* What the clerk is asked. */
typedef enum ask_kind { ASK_NEXT, ASK_SIGNED, ASK_LATER, ASK_DONE, ASK_CAMPAIGNS } ask_kind;

struct cd_settler {
    cd_settler_cfg cfg;
    cd_adx_escrow escrow;
    cd_arena strings;
    cd_http_client *http;
    cd_upstream node;
    u8 key[32];
    cd_addr20 account;
    char owner[33];
    cd_timer *timer;
    bool is_busy, is_out, is_mine, is_ended, wants_compare;
    u64 made_ms, gone_ms, sent_cnt;
    i64 gone_id;
    char trouble[200];
    cd_arena mem; /* of what is under way */
    cd_call *call;
    cd_sending now;
    u64 chain_id;
    /* the clerk's command */
    cd_clerk_cmd cmd;
    ask_kind kind;
    u64 cmd_ms, after_ms, block, gas;
    bool is_anew, has_one, makes;
    usize made_cnt;
    const char *why;
    cd_settled *settled;
    usize settled_cnt;
    cd_settler_compared *compared;
    usize compared_cnt;
    u64 compared_ms;
    bool is_equal;
    void (*done)(void *ctx);
    void *done_ctx;
    cd_counter *sent, *failed;
    cd_gauge *differs;
};

static u64 now_ms(const cd_settler *s)
{
    return cd_clock_wall_ns(s->cfg.clock) / CD_NS_PER_MS;
}

static void note_trouble(cd_settler *s, const char *why)
{
    usize n = cd_min_u64(strlen(why), sizeof s->trouble - 1);
    bool is_new = n != 0 && (strncmp(s->trouble, why, n) != 0 || s->trouble[n] != '\0');
    memcpy(s->trouble, why, n);
    s->trouble[n] = '\0';
    if (is_new) {
        cd_log_warn(s->cfg.log, "settlement", CD_F("why", (const char *)s->trouble));
    }
}

static void finish_round(cd_settler *s)
{
    s->is_busy = false;
    cd_arena_reset(&s->mem);
}

/* --- the ledger --- */

static cd_err next(cd_settler *s, cd_ledger *l, cd_errinfo *why)
{
    s->has_one = false;
    s->made_cnt = 0;
    CD_TRY(cd_settle_lock(l, &s->is_mine, s->owner, s->cmd_ms, HOLD_MS, why));
    if (!s->is_mine) {
        return CD_OK;
    }
    if (s->makes) {
        CD_TRY(cd_settle_make(l, &s->made_cnt, s->escrow.scale, s->escrow.payout_min, s->cmd_ms, why));
    }
    cd_err err = cd_settle_next(l, &s->now, &s->mem, s->cmd_ms, why);
    s->has_one = err == CD_OK;
    return err == CD_ENOENT ? CD_OK : err;
}

static cd_err run_cmd(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    cd_settler *s = (cd_settler *)(void *)((char *)cmd - offsetof(cd_settler, cmd));
    switch (s->kind) {
    case ASK_NEXT:
        return next(s, l, why);
    case ASK_SIGNED:
        return cd_settle_signed(l, s->now.id, s->now.nonce, s->now.raw, &s->now.tx, why);
    case ASK_LATER:
        return cd_settle_later(l, s->now.id, s->after_ms, s->is_anew, s->why, why);
    case ASK_DONE:
        return cd_settle_done(l, s->now.id, s->block, s->gas, s->cmd_ms, why);
    case ASK_CAMPAIGNS:
        return cd_settle_campaigns(l, s->settled, &s->settled_cnt, CD_SETTLER_LOOKED_MAX, why);
    }
    CD_UNREACHABLE();
}

static void on_cmd(cd_clerk_cmd *cmd);

static void ask(cd_settler *s, ask_kind kind)
{
    s->kind = kind;
    s->cmd_ms = now_ms(s);
    s->cmd.run = run_cmd;
    s->cmd.done = on_cmd;
    if (s->is_ended || cd_clerk_post(s->cfg.clerk, &s->cmd) != CD_OK) {
        finish_round(s);
        return;
    }
    s->is_out = true;
}

static void later(cd_settler *s, u64 pause_ms, bool is_anew, const char *why)
{
    s->after_ms = now_ms(s) + pause_ms;
    s->is_anew = is_anew;
    s->why = cd_arena_str(&s->mem, cd_bytes_str(why));
    note_trouble(s, why);
    if (why[0] != '\0') {
        cd_counter_add(s->failed, 1);
    }
    ask(s, ASK_LATER);
}

/* --- the node --- */

static void selector(u8 out[4], const char *signature)
{
    cd_hash32 h;
    cd_keccak256(&h, cd_bytes_str(signature));
    memcpy(out, h.b, 4);
}

/* Call data of words. */
static cd_bytes calldata(cd_settler *s, const char *signature, const cd_u256 *words, usize cnt)
{
    u8 *p = cd_arena_alloc(&s->mem, 4 + 32 * WORDS_MAX);
    CD_ASSERT(cnt <= WORDS_MAX);
    selector(p, signature);
    for (usize i = 0; i < cnt; i++) {
        cd_u256_store_be(p + 4 + 32 * i, &words[i]);
    }
    return cd_bytes_of(p, 4 + 32 * cnt);
}

static const char *hex_of(cd_settler *s, cd_bytes b)
{
    cd_buf text = {0};
    cd_hex_put(&text, b);
    const char *out = cd_arena_str(&s->mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return out;
}

static const cd_addr20 *target(const cd_settler *s)
{
    return s->now.kind == CD_SENDING_BATCH ? &s->escrow.contract : &s->escrow.token;
}

static cd_bytes data_of(cd_settler *s)
{
    cd_u256 units = cd_settle_units(s->now.total, s->now.scale);
    if (s->now.kind == CD_SENDING_PAYOUT) {
        const cd_u256 words[] = {cd_u256_from_addr(&s->now.wallet), units};
        return calldata(s, "transfer(address,uint256)", words, CD_COUNT(words));
    }
    cd_hash32 campaign;
    cd_settle_campaign_id(&campaign, s->now.ref);
    const cd_u256 words[] = {cd_u256_from_hash(&campaign), cd_u256_from_hash(&s->now.root), units};
    return calldata(s, "settleBatch(bytes32,bytes32,uint256)", words, CD_COUNT(words));
}

/* Whether the contract has the batch already: batches(root).settledAt. */
static cd_ask ask_batch(cd_settler *s)
{
    const cd_u256 root = cd_u256_from_hash(&s->now.root);
    const char *data = hex_of(s, calldata(s, "batches(bytes32)", &root, 1));
    const char *to = hex_of(s, cd_bytes_of(s->escrow.contract.b, 20));
    return (cd_ask){"eth_call", cd_arena_fmt(&s->mem, "[{\"to\":\"%s\",\"data\":\"%s\"},\"latest\"]", to, data)};
}

static bool read_word(cd_u256 *out, cd_arena *mem, const cd_answer *a, usize word)
{
    cd_bytes b;
    if (a->is_error || cd_json_hex(&b, mem, a->result, NULL) != CD_OK || b.n < 32 * (word + 1)) {
        return false;
    }
    cd_u256_load_be(out, b.p + 32 * word);
    return true;
}

static bool is_on_chain(cd_settler *s, const cd_answer *a)
{
    cd_u256 settled_at;
    return s->now.kind == CD_SENDING_BATCH && read_word(&settled_at, &s->mem, a, 2) && !cd_u256_is_zero(&settled_at);
}

/* --- made: estimate, sign --- */

static void send_raw(cd_settler *s);

static cd_err sign(cd_settler *s, u64 nonce, u64 gas, const cd_u256 *price)
{
    cd_buf raw = {0};
    cd_tx tx = {.type = CD_TX_DYNAMIC_FEE,
                .is_protected = true,
                .chain_id = s->chain_id,
                .nonce = nonce,
                .gas_limit = gas,
                .to = *target(s),
                .data = data_of(s)};
    (void)cd_u256_mul_u64(&tx.fee_cap, price, 2);
    cd_u256_set_u64(&tx.tip_cap, 1000000000);
    if (cd_u256_lt(&tx.fee_cap, &tx.tip_cap)) {
        tx.tip_cap = tx.fee_cap;
    }
    CD_TRY(cd_tx_sign(&tx, s->key));
    cd_tx_enc(&raw, &tx);
    s->now.nonce = nonce;
    s->now.tx = tx.hash;
    s->now.raw = cd_arena_dup(&s->mem, cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
    return CD_OK;
}

static bool lost(cd_settler *s, cd_err err, const char *reason)
{
    s->call = NULL;
    if (err != CD_OK) {
        note_trouble(s, reason);
        finish_round(s);
    }
    return err != CD_OK;
}

static void on_prepared(void *ctx, cd_err err, const char *reason, const cd_answer *a)
{
    cd_settler *s = ctx;
    u64 nonce = 0;
    u64 gas = 0;
    cd_u256 price;
    if (lost(s, err, reason)) {
        return;
    }
    if (is_on_chain(s, &a[4])) {
        s->block = s->gas = 0;
        ask(s, ASK_DONE);
        return;
    }
    if (a[3].is_error) {
        later(s, RETRY_MS, false, cd_arena_fmt(&s->mem, "%s: %.120s", s->now.ref, a[3].message));
        return;
    }
    bool is_read = cd_json_qty_u64(&s->chain_id, a[0].result, NULL) == CD_OK &&
                   cd_json_qty_u64(&nonce, a[1].result, NULL) == CD_OK &&
                   cd_json_qty_u256(&price, a[2].result, NULL) == CD_OK &&
                   cd_json_qty_u64(&gas, a[3].result, NULL) == CD_OK && gas < GAS_MAX;
    if (!is_read || sign(s, nonce, gas + gas * GAS_SLACK_PERCENT / 100, &price) != CD_OK) {
        later(s, RETRY_MS, false, "the node's answer makes no transaction");
        return;
    }
    ask(s, ASK_SIGNED);
}

static void prepare(cd_settler *s)
{
    const char *from = hex_of(s, cd_bytes_of(s->account.b, 20));
    const char *to = hex_of(s, cd_bytes_of(target(s)->b, 20));
    const cd_ask asks[ASKS_MAX] = {
        {"eth_chainId", "[]"},
        {"eth_getTransactionCount", cd_arena_fmt(&s->mem, "[\"%s\",\"latest\"]", from)},
        {"eth_gasPrice", "[]"},
        {"eth_estimateGas",
         cd_arena_fmt(&s->mem, "[{\"from\":\"%s\",\"to\":\"%s\",\"data\":\"%s\"}]", from, to, hex_of(s, data_of(s)))},
        ask_batch(s),
    };
    s->call = cd_call_new(&s->node, &s->mem, asks, ASKS_MAX, 0, on_prepared, s);
}

/* --- signed: sent until the chain has it --- */

static void on_sent(void *ctx, cd_err err, const char *reason, const cd_answer *a)
{
    cd_settler *s = ctx;
    if (lost(s, err, reason)) {
        return;
    }
    s->sent_cnt++;
    cd_counter_add(s->sent, 1);
    note_trouble(s, a[0].is_error ? a[0].message : ""); // known already, nonce used: the next look tells
    finish_round(s);
}

static void send_raw(cd_settler *s)
{
    const cd_ask one = {"eth_sendRawTransaction", cd_arena_fmt(&s->mem, "[\"%s\"]", hex_of(s, s->now.raw))};
    s->call = cd_call_new(&s->node, &s->mem, &one, 1, 0, on_sent, s);
}

/* A nonce that is used, and no receipt: after a while it was not by this transaction. */
static void on_gone(cd_settler *s)
{
    u64 now = now_ms(s);
    if (s->gone_id != s->now.id) {
        s->gone_id = s->now.id;
        s->gone_ms = now;
    }
    if (now < s->gone_ms + GONE_MS) {
        later(s, TICK_MS, false, "the nonce is used, the receipt is not there yet");
        return;
    }
    s->gone_id = 0;
    later(s, 0, true, "the nonce was used by another transaction");
}

static void on_looked(void *ctx, cd_err err, const char *reason, const cd_answer *a)
{
    cd_settler *s = ctx;
    u64 status = 0;
    u64 nonce = 0;
    if (lost(s, err, reason)) {
        return;
    }
    cd_json receipt = a[0].result;
    bool is_mined = !a[0].is_error && cd_json_qty_u64(&status, cd_json_get(receipt, "status"), NULL) == CD_OK;
    s->block = s->gas = 0;
    if (is_mined && status == 1) {
        bool is_told = cd_json_qty_u64(&s->block, cd_json_get(receipt, "blockNumber"), NULL) == CD_OK &&
                       cd_json_qty_u64(&s->gas, cd_json_get(receipt, "gasUsed"), NULL) == CD_OK;
        s->gas = is_told ? s->gas : 0;
        ask(s, ASK_DONE);
    } else if (is_on_chain(s, &a[2])) {
        ask(s, ASK_DONE);
    } else if (is_mined) {
        later(s, RETRY_MS, true, cd_arena_fmt(&s->mem, "%s: the contract refused it", s->now.ref));
    } else if (a[1].is_error || cd_json_qty_u64(&nonce, a[1].result, NULL) != CD_OK) {
        later(s, RETRY_MS, false, "the node does not tell the account's nonce");
    } else if (nonce > s->now.nonce) {
        on_gone(s);
    } else {
        send_raw(s);
    }
}

static void look(cd_settler *s)
{
    const cd_ask asks[] = {
        {"eth_getTransactionReceipt", cd_arena_fmt(&s->mem, "[\"%s\"]", hex_of(s, cd_bytes_of(s->now.tx.b, 32)))},
        {"eth_getTransactionCount",
         cd_arena_fmt(&s->mem, "[\"%s\",\"latest\"]", hex_of(s, cd_bytes_of(s->account.b, 20)))},
        ask_batch(s),
    };
    s->call = cd_call_new(&s->node, &s->mem, asks, CD_COUNT(asks), 0, on_looked, s);
}

/* --- chain and ledger compared --- */

static void on_compared(void *ctx, cd_err err, const char *reason, const cd_answer *a)
{
    cd_settler *s = ctx;
    if (lost(s, err, reason)) {
        return;
    }
    s->is_equal = true;
    s->compared_cnt = s->settled_cnt;
    for (usize i = 0; i < s->settled_cnt; i++) {
        const cd_settled *c = &s->settled[i];
        cd_settler_compared *out = &s->compared[i];
        *out = (cd_settler_compared){.ledger = cd_settle_units(c->amount, c->scale)};
        memcpy(out->campaign, c->campaign, sizeof out->campaign);
        bool is_read = read_word(&out->chain, &s->mem, &a[i], 4); // spentBudget
        if (!is_read || !cd_u256_eq(&out->ledger, &out->chain)) {
            s->is_equal = false;
            cd_log_error(s->cfg.log, "the chain does not have what the ledger has",
                         CD_F("campaign", (const char *)c->campaign));
        }
    }
    cd_gauge_set(s->differs, s->is_equal ? 0 : 1);
    s->compared_ms = now_ms(s);
    finish_round(s);
}

static void compare(cd_settler *s)
{
    cd_ask *asks = cd_arena_array(&s->mem, cd_ask, s->settled_cnt + 1);
    const char *to = hex_of(s, cd_bytes_of(s->escrow.contract.b, 20));
    s->wants_compare = false;
    if (s->settled_cnt == 0) {
        s->is_equal = true;
        s->compared_ms = now_ms(s);
        finish_round(s);
        return;
    }
    for (usize i = 0; i < s->settled_cnt; i++) {
        cd_hash32 id;
        cd_settle_campaign_id(&id, s->settled[i].campaign);
        const cd_u256 word = cd_u256_from_hash(&id);
        asks[i] = (cd_ask){"eth_call", cd_arena_fmt(&s->mem, "[{\"to\":\"%s\",\"data\":\"%s\"},\"latest\"]", to,
                                                    hex_of(s, calldata(s, "getCampaign(bytes32)", &word, 1)))};
    }
    s->call = cd_call_new(&s->node, &s->mem, asks, s->settled_cnt, 0, on_compared, s);
}

/* --- rounds --- */

static void on_next(cd_settler *s)
{
    bool has_one = s->is_mine && s->has_one;
    if (has_one && s->now.state == CD_SENDING_MADE) {
        prepare(s);
    } else if (has_one) {
        look(s);
    } else if (s->is_mine && s->wants_compare) {
        ask(s, ASK_CAMPAIGNS);
    } else {
        finish_round(s);
    }
}

static void begin(cd_settler *s)
{
    u64 now = now_ms(s);
    s->is_busy = true;
    s->makes = now >= s->made_ms + s->escrow.interval_ms || now < s->made_ms;
    ask(s, ASK_NEXT);
}

static void on_cmd(cd_clerk_cmd *cmd)
{
    cd_settler *s = (cd_settler *)(void *)((char *)cmd - offsetof(cd_settler, cmd));
    s->is_out = false;
    if (cmd->err != CD_OK) {
        cd_log_error(s->cfg.log, "settlement not written", CD_F("why", (const char *)cmd->why.msg));
    }
    bool goes_on = cmd->err == CD_OK && !s->is_ended;
    if (goes_on && s->kind == ASK_NEXT) {
        if (s->makes && s->is_mine) {
            s->made_ms = s->cmd_ms;
            s->wants_compare = true;
        }
        on_next(s);
    } else if (goes_on && s->kind == ASK_SIGNED) {
        send_raw(s);
    } else if (goes_on && s->kind == ASK_DONE) {
        cd_log_info(s->cfg.log, "settled", CD_F("ref", (const char *)s->now.ref), CD_F("nano", s->now.total),
                    CD_F("impressions", s->now.cnt), CD_F("block", s->block), CD_F("gas", s->gas));
        s->wants_compare = true;
        note_trouble(s, "");
        cd_arena_reset(&s->mem);
        begin(s); // the next one, if there is one
    } else if (goes_on && s->kind == ASK_CAMPAIGNS) {
        compare(s);
    } else {
        finish_round(s);
    }
    if (s->is_ended && !s->is_out && s->done != NULL) {
        void (*done)(void *ctx) = s->done;
        s->done = NULL;
        done(s->done_ctx);
    }
}

static void on_tick(void *ctx)
{
    cd_settler *s = ctx;
    if (!s->is_busy) {
        begin(s);
    }
}

/* --- life --- */

static cd_err read_key(cd_settler *s, cd_errinfo *why)
{
    cd_buf text = {0};
    struct stat st;
    u8 pub[64];
    const char *path = s->escrow.key_file;
    CD_TRY(cd_fs_read_file(cd_fs_real(), &text, path, KEY_TEXT_MAX, why));
    cd_bytes digits = cd_text_trim(cd_buf_bytes(&text), NULL);
    if (digits.n == 66 && digits.p[0] == '0' && digits.p[1] == 'x') {
        digits = cd_bytes_sub(digits, 2, 64);
    }
    cd_err err = digits.n == 64 ? cd_hex_parse(s->key, digits) : CD_EFORMAT;
    if (err == CD_OK) {
        err = cd_secp256k1_pub(pub, s->key);
    }
    cd_wipe(text.p, text.n);
    cd_buf_fini(&text);
    if (err != CD_OK) {
        return cd_fail(why, CD_EFORMAT, "%s: must hold a secret key of 64 hexadecimal digits", path);
    }
    if (stat(path, &st) != 0 || (st.st_mode & 077) != 0) {
        return cd_fail(why, CD_EACCES, "%s: others may read it", path);
    }
    cd_secp256k1_addr(&s->account, pub);
    return CD_OK;
}

cd_err cd_settler_new(cd_settler **out, const cd_settler_cfg *cfg, cd_errinfo *why)
{
    const cd_http_client_cfg http = {.user_agent = "candela-adx/" CD_VERSION, .conns_max = 2};
    cd_settler *s = cd_new(cd_settler);
    u8 name[16];
    cd_rng rng = cd_rng_os();
    s->cfg = *cfg;
    s->escrow = *cfg->escrow;
    s->escrow.rpc = cd_arena_str(&s->strings, cd_bytes_str(cfg->escrow->rpc));
    s->escrow.key_file = cd_arena_str(&s->strings, cd_bytes_str(cfg->escrow->key_file));
    s->wants_compare = true;
    s->settled = cd_new_array(cd_settled, CD_SETTLER_LOOKED_MAX);
    s->compared = cd_new_array(cd_settler_compared, CD_SETTLER_LOOKED_MAX);
    cd_rng_fill(&rng, name, sizeof name);
    cd_hex_fmt(s->owner, cd_bytes_of(name, sizeof name));
    s->sent = cd_metrics_counter(cfg->metrics, "settlement_sent_total", "Transactions sent to the chain.", NULL, 0);
    s->failed = cd_metrics_counter(cfg->metrics, "settlement_failures_total", "Sendings that wait.", NULL, 0);
    s->differs =
        cd_metrics_gauge(cfg->metrics, "settlement_differs", "1: the chain is not what the ledger has.", NULL, 0);
    cd_err err = read_key(s, why);
    if (err == CD_OK) {
        err = cd_http_client_new(&s->http, cfg->loop, &http, why);
    }
    if (err != CD_OK) {
        cd_settler_free(s);
        return err;
    }
    s->node = (cd_upstream){.http = s->http, .url = s->escrow.rpc, .timeout_ms = RPC_MS, .answer_max = ANSWER_MAX};
    s->timer = cd_timer_new(cfg->loop, on_tick, s);
    cd_timer_start(s->timer, TICK_MS, TICK_MS);
    *out = s;
    return CD_OK;
}

void cd_settler_end(cd_settler *s, void (*done)(void *ctx), void *ctx)
{
    cd_timer_stop(s->timer);
    s->is_ended = true;
    cd_call_cancel(s->call);
    s->call = NULL;
    if (s->is_out) {
        s->done = done;
        s->done_ctx = ctx;
    } else {
        done(ctx);
    }
}

void cd_settler_free(cd_settler *s)
{
    if (s == NULL) {
        return;
    }
    cd_timer_free(s->timer);
    cd_call_cancel(s->call);
    cd_http_client_free(s->http);
    cd_free(s->settled);
    cd_free(s->compared);
    cd_arena_fini(&s->mem);
    cd_arena_fini(&s->strings);
    cd_wipe(s->key, sizeof s->key);
    cd_free(s);
}

cd_settler_state cd_settler_look(const cd_settler *s)
{
    return (cd_settler_state){.account = s->account,
                              .contract = s->escrow.contract,
                              .is_mine = s->is_mine,
                              .trouble = s->trouble,
                              .sent = s->sent_cnt,
                              .compared_ms = s->compared_ms,
                              .is_equal = s->is_equal,
                              .compared = s->compared,
                              .compared_cnt = s->compared_cnt};
}
