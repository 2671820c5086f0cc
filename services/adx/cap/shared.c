#include "services/adx/cap/shared.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/os/rng.h"
#include "crypto/hash/hmac.h"
#include "net/redis.h"
#include "services/adx/cap/freq.h"

#include <stdio.h>

enum { KEY_LEN = 56, NUMBER_LEN = 24, WORDS_MAX = 5 + 2 * CD_CAPS_ROWS_MAX };

/* ARGV: 1 to count, when the epoch ends, a cap for each key. A counter keeps the cap it was made with. */
static const char count_script[] = "local out = {} "
                                   "for i = 1, #KEYS do "
                                   "  local c = redis.call('HMGET', KEYS[i], 'n', 'cap') "
                                   "  local n, cap = tonumber(c[1] or '0'), tonumber(ARGV[2 + i]) "
                                   "  if c[2] then cap = math.min(cap, tonumber(c[2])) end "
                                   "  out[i] = math.max(cap - n, 0) "
                                   "  if ARGV[1] == '1' and out[i] > 0 then "
                                   "    redis.call('HINCRBY', KEYS[i], 'n', 1) "
                                   "    if not c[2] then "
                                   "      redis.call('HSET', KEYS[i], 'cap', ARGV[2 + i]) "
                                   "      redis.call('EXPIREAT', KEYS[i], ARGV[2]) "
                                   "    end "
                                   "  end "
                                   "end "
                                   "return out";

static const char key_script[] = "if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then "
                                 "  redis.call('EXPIREAT', KEYS[1], ARGV[2]) "
                                 "end "
                                 "return redis.call('GET', KEYS[1])";

/* This epoch's key or the next one's. */
typedef struct epoch_key {
    u64 epoch;
    bool is_asked, is_known;
    u8 key[32];
} epoch_key;

struct cd_caps {
    cd_redis *redis;
    cd_caps_cfg cfg;
    cd_rng rng;
    epoch_key keys[2]; /* of even and of odd epochs */
    u32 round;         /* connections so far: answers of an older one say nothing */
    bool is_closing;
};

static u64 epoch_now(const cd_caps *c)
{
    return cd_clock_wall_s(c->cfg.clock) / c->cfg.window_s;
}

static cd_bytes number(char out[NUMBER_LEN], u64 v)
{
    int n = snprintf(out, NUMBER_LEN, "%llu", (unsigned long long)v);
    return cd_bytes_of(out, (usize)n);
}

/* --- keys --- */

typedef struct fetching {
    cd_caps *caps;
    u64 epoch;
    u32 round;
} fetching;

static void on_key(void *ctx, const cd_redis_reply *reply)
{
    fetching *f = ctx;
    cd_caps *c = f->caps;
    epoch_key *k = c->is_closing ? NULL : &c->keys[f->epoch % 2];
    if (k != NULL && k->epoch == f->epoch && f->round == c->round) {
        bool is_good = reply != NULL && cd_redis_kind_of(reply) == CD_REDIS_TEXT && cd_redis_text(reply).n == 64;
        k->is_asked = false;
        if (is_good) {
            const cd_bytes part = cd_redis_text(reply);
            cd_hmac_sha256_key secret;
            cd_hmac_sha256_init(&secret, cd_bytes_of(c->cfg.secret, sizeof c->cfg.secret));
            cd_hmac_sha256_parts(k->key, &secret, &part, 1);
            cd_wipe(&secret, sizeof secret);
            k->is_known = true;
        }
    }
    cd_free(f);
}

static void fetch(cd_caps *c, u64 epoch)
{
    epoch_key *k = &c->keys[epoch % 2];
    u8 fresh[32];
    char digits[64];
    char name[KEY_LEN];
    char end[NUMBER_LEN];
    if (k->epoch != epoch) {
        cd_wipe(k, sizeof *k);
        k->epoch = epoch;
    }
    if (k->is_asked || k->is_known) {
        return;
    }
    k->is_asked = true;
    fetching *f = cd_new(fetching);
    *f = (fetching){.caps = c, .epoch = epoch, .round = c->round};
    cd_rng_fill(&c->rng, fresh, sizeof fresh);
    cd_hex_fmt(digits, cd_bytes_of(fresh, sizeof fresh));
    (void)snprintf(name, sizeof name, "candela:adx:caps:%llu:key", (unsigned long long)epoch);
    const cd_bytes words[] = {
        cd_bytes_str("EVAL"), cd_bytes_str(key_script),           cd_bytes_str("1"),
        cd_bytes_str(name),   cd_bytes_of(digits, sizeof digits), number(end, (epoch + 1) * c->cfg.window_s)};
    cd_redis_call(c->redis, words, CD_COUNT(words), on_key, f);
}

/* A server that was started anew has other keys. */
static void on_changed(void *ctx, bool is_there)
{
    cd_caps *c = ctx;
    cd_wipe(c->keys, sizeof c->keys);
    c->round++;
    if (is_there && !c->is_closing) {
        u64 epoch = epoch_now(c);
        c->keys[epoch % 2].epoch = epoch;
        c->keys[(epoch + 1) % 2].epoch = epoch + 1;
        fetch(c, epoch);
        fetch(c, epoch + 1);
    }
}

bool cd_caps_is_ready(cd_caps *c)
{
    u64 epoch = epoch_now(c);
    if (!cd_redis_is_there(c->redis)) {
        return false;
    }
    fetch(c, epoch);
    fetch(c, epoch + 1);
    return c->keys[epoch % 2].is_known;
}

/* --- counters --- */

typedef struct asking {
    cd_caps *caps;
    cd_caps_fn *fn;
    void *ctx;
    usize cnt;
} asking;

static void on_left(void *ctx, const cd_redis_reply *reply)
{
    asking *a = ctx;
    u32 left[CD_CAPS_ROWS_MAX];
    bool is_good = reply != NULL && cd_redis_kind_of(reply) == CD_REDIS_ARRAY && cd_redis_len(reply) == a->cnt;
    for (usize i = 0; is_good && i < a->cnt; i++) {
        const cd_redis_reply *v = cd_redis_at(reply, i);
        is_good = cd_redis_kind_of(v) == CD_REDIS_INT && cd_redis_int(v) >= 0 && cd_redis_int(v) <= CD_FREQ_CAP_MAX;
        left[i] = is_good ? (u32)cd_redis_int(v) : 0;
    }
    if (a->fn != NULL && !a->caps->is_closing) {
        a->fn(a->ctx, is_good ? left : NULL, a->cnt);
    }
    cd_free(a);
}

bool cd_caps_ask(cd_caps *c, cd_bytes device, const cd_caps_row *rows, usize cnt, bool is_count, cd_caps_fn *fn,
                 void *ctx)
{
    cd_bytes words[WORDS_MAX];
    char names[CD_CAPS_ROWS_MAX][KEY_LEN];
    char caps[CD_CAPS_ROWS_MAX][NUMBER_LEN];
    char end[NUMBER_LEN];
    char keys[NUMBER_LEN];
    usize n = 0;
    CD_ASSERT(cnt >= 1 && cnt <= CD_CAPS_ROWS_MAX);
    if (!cd_caps_is_ready(c)) {
        return false;
    }
    u64 epoch = epoch_now(c);
    words[n++] = cd_bytes_str("EVAL");
    words[n++] = cd_bytes_str(count_script);
    words[n++] = number(keys, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_label16 label;
        char digits[32];
        cd_freq_label(&label, c->keys[epoch % 2].key, device, rows[i].campaign, (cd_bytes){0});
        cd_hex_fmt(digits, cd_bytes_of(label.b, sizeof label.b));
        (void)snprintf(names[i], KEY_LEN, "candela:adx:caps:%.32s", digits);
        words[n++] = cd_bytes_str(names[i]);
    }
    words[n++] = cd_bytes_str(is_count ? "1" : "0");
    words[n++] = number(end, (epoch + 1) * c->cfg.window_s);
    for (usize i = 0; i < cnt; i++) {
        words[n++] = number(caps[i], rows[i].cap);
    }
    asking *a = cd_new(asking);
    *a = (asking){.caps = c, .fn = fn, .ctx = ctx, .cnt = cnt};
    cd_redis_call(c->redis, words, n, on_left, a);
    return true;
}

/* --- life --- */

cd_err cd_caps_open(cd_caps **out, cd_loop *l, const cd_caps_cfg *cfg, cd_errinfo *why)
{
    cd_caps *c = cd_new(cd_caps);
    c->cfg = *cfg;
    c->rng = cd_rng_os();
    const cd_redis_cfg redis = {.url = cfg->url, .changed = on_changed, .ctx = c};
    cd_err err = cd_redis_open(&c->redis, l, &redis, why);
    if (err != CD_OK) {
        cd_caps_close(c);
        return err;
    }
    c->cfg.url = NULL;
    *out = c;
    return CD_OK;
}

void cd_caps_close(cd_caps *c)
{
    if (c != NULL) {
        c->is_closing = true;
        cd_redis_close(c->redis);
        cd_wipe(c, sizeof *c);
        cd_free(c);
    }
}
