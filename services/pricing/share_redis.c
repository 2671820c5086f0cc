#include "services/pricing/share_redis.h"

#include "base/mem/arena.h"
#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/rng.h"
#include "base/table/hmap.h"
#include "crypto/hash/sha2.h"
#include "net/redis.h"
#include "services/pricing/market.h"

#include <stdio.h>

enum { CLAIM_MS = 2000, BEAT_MS = 600 }; /* a claim lives so long; renewed so often */
enum { TOKEN_LEN = 32, KEYS_MAX = CD_MARKET_IDS_MAX, WORDS_MAX = 5 + 3 * KEYS_MAX };

/* Pairs of keys, value and claim. A token of our own in the claim: it was ours already. */
static const char take_script[] = "local out = {} "
                                  "for i = 1, #KEYS, 2 do "
                                  "  local v = redis.call('GET', KEYS[i]) "
                                  "  if v then out[#out + 1] = 'F' out[#out + 1] = v "
                                  "  else "
                                  "    local mine = redis.call('SET', KEYS[i + 1], ARGV[1], 'NX', 'PX', ARGV[2]) "
                                  "      or redis.call('GET', KEYS[i + 1]) == ARGV[1] "
                                  "    out[#out + 1] = mine and 'M' or 'T' out[#out + 1] = '' "
                                  "  end "
                                  "end "
                                  "return out";

static const char put_script[] =
    "for i = 1, #KEYS, 2 do "
    "  local v = ARGV[2 + (i + 1) / 2] "
    "  if v ~= '' then redis.call('SET', KEYS[i], v, 'PX', ARGV[2]) end "
    "  if redis.call('GET', KEYS[i + 1]) == ARGV[1] then redis.call('DEL', KEYS[i + 1]) end "
    "end";

static const char renew_script[] =
    "for i = 1, #KEYS, 2 do "
    "  if redis.call('GET', KEYS[i + 1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[i + 1], ARGV[2]) end "
    "end";

struct cd_share_redis {
    cd_redis *redis;
    cd_logger *log;
    cd_timer *beat;
    cd_hmap held; /* hash of a key -> cd_buf *: its text; claims that are ours */
    char token[TOKEN_LEN + 1];
    bool is_closing;
};

typedef struct taking {
    cd_share_redis *share;
    cd_share_taken_fn *fn;
    void *ctx;
    usize cnt;
    cd_arena mem;
    cd_bytes keys[KEYS_MAX];
} taking;

/* --- claims that are held --- */

static void hold(cd_share_redis *s, cd_bytes key)
{
    cd_hash32 hash;
    bool is_new;
    cd_sha256(&hash, key);
    cd_buf **at = cd_hmap_put(&s->held, &is_new, hash.b);
    if (is_new) {
        *at = cd_new(cd_buf);
        cd_buf_put(*at, key);
    }
}

static void let_go(cd_share_redis *s, cd_bytes key)
{
    cd_hash32 hash;
    cd_sha256(&hash, key);
    cd_buf **at = cd_hmap_get(&s->held, hash.b);
    if (at != NULL) {
        cd_buf_fini(*at);
        cd_free(*at);
        (void)cd_hmap_del(&s->held, hash.b);
    }
}

static bool is_there(void *ctx)
{
    return cd_redis_is_there(((cd_share_redis *)ctx)->redis);
}

/* EVAL script 2n (key claim)×n token number; gives how many words. */
static usize words_of(cd_bytes words[WORDS_MAX], cd_arena *mem, const cd_share_redis *s, const char *script,
                      const cd_bytes *keys, usize cnt, u64 number)
{
    usize n = 0;
    CD_ASSERT(cnt <= KEYS_MAX);
    words[n++] = cd_bytes_str("EVAL");
    words[n++] = cd_bytes_str(script);
    words[n++] = cd_bytes_str(cd_arena_fmt(mem, "%zu", 2 * cnt));
    for (usize i = 0; i < cnt; i++) {
        char *claim = cd_arena_fmt(mem, "candela:price:%.*s:claim", (int)keys[i].n, (const char *)keys[i].p);
        words[n++] = cd_bytes_of(claim, strlen(claim) - strlen(":claim"));
        words[n++] = cd_bytes_str(claim);
    }
    words[n++] = cd_bytes_str(s->token);
    words[n++] = cd_bytes_str(cd_arena_fmt(mem, "%llu", (unsigned long long)number));
    return n;
}

/* False: not what the script answers. */
static bool read_taken(cd_share_taken *out, const cd_redis_reply *reply, usize cnt)
{
    if (reply == NULL || cd_redis_kind_of(reply) != CD_REDIS_ARRAY || cd_redis_len(reply) != 2 * cnt) {
        return false;
    }
    for (usize i = 0; i < cnt; i++) {
        const cd_redis_reply *what = cd_redis_at(reply, 2 * i);
        const cd_redis_reply *value = cd_redis_at(reply, 2 * i + 1);
        if (cd_redis_kind_of(what) != CD_REDIS_TEXT || cd_redis_kind_of(value) != CD_REDIS_TEXT ||
            cd_redis_text(what).n != 1) {
            return false;
        }
        u8 c = cd_redis_text(what).p[0];
        out[i] = (cd_share_taken){
            .verdict = c == 'F'   ? CD_SHARE_FRESH
                       : c == 'M' ? CD_SHARE_MINE
                                  : CD_SHARE_THEIRS,
            .value = cd_redis_text(value),
        };
    }
    return true;
}

static void on_taken(void *ctx, const cd_redis_reply *reply)
{
    taking *t = ctx;
    cd_share_taken taken[KEYS_MAX];
    if (!t->share->is_closing) {
        bool is_good = read_taken(taken, reply, t->cnt);
        for (usize i = 0; is_good && i < t->cnt; i++) {
            if (taken[i].verdict == CD_SHARE_MINE) {
                hold(t->share, t->keys[i]);
            }
        }
        if (!is_good && reply != NULL) {
            cd_log_warn(t->share->log, "shared store refuses");
        }
        t->fn(t->ctx, is_good ? taken : NULL);
    }
    cd_arena_fini(&t->mem);
    cd_free(t);
}

static void take(void *ctx, const cd_bytes *keys, usize cnt, cd_share_taken_fn *fn, void *fn_ctx)
{
    cd_share_redis *s = ctx;
    cd_arena mem = {0};
    cd_bytes words[WORDS_MAX];
    taking *t = cd_new(taking);
    *t = (taking){.share = s, .fn = fn, .ctx = fn_ctx, .cnt = cnt};
    for (usize i = 0; i < cnt; i++) {
        t->keys[i] = cd_arena_dup(&t->mem, keys[i]);
    }
    usize n = words_of(words, &mem, s, take_script, keys, cnt, CLAIM_MS);
    cd_redis_call(s->redis, words, n, on_taken, t);
    cd_arena_fini(&mem);
}

static void put(void *ctx, const cd_bytes *keys, const cd_bytes *values, usize cnt, u64 ttl_ms)
{
    cd_share_redis *s = ctx;
    cd_arena mem = {0};
    cd_bytes words[WORDS_MAX];
    usize n = words_of(words, &mem, s, put_script, keys, cnt, ttl_ms);
    for (usize i = 0; i < cnt; i++) {
        words[n++] = values[i];
        let_go(s, keys[i]);
    }
    cd_redis_call(s->redis, words, n, NULL, NULL);
    cd_arena_fini(&mem);
}

static void drop(void *ctx, const cd_bytes *keys, usize cnt)
{
    static const cd_bytes none[KEYS_MAX];
    put(ctx, keys, none, cnt, 1);
}

static void renew(cd_share_redis *s, const cd_bytes *keys, usize cnt)
{
    cd_arena mem = {0};
    cd_bytes words[WORDS_MAX];
    usize n = words_of(words, &mem, s, renew_script, keys, cnt, CLAIM_MS);
    cd_redis_call(s->redis, words, n, NULL, NULL);
    cd_arena_fini(&mem);
}

static void on_beat(void *ctx)
{
    cd_share_redis *s = ctx;
    cd_bytes keys[KEYS_MAX];
    usize cnt = 0;
    void *v;
    if (!cd_redis_is_there(s->redis)) {
        return;
    }
    for (usize it = 0; cd_hmap_next(&s->held, &it, NULL, &v);) {
        keys[cnt++] = cd_buf_bytes(*(cd_buf **)v);
        if (cnt == KEYS_MAX) {
            renew(s, keys, cnt);
            cnt = 0;
        }
    }
    if (cnt != 0) {
        renew(s, keys, cnt);
    }
}

static void on_changed(void *ctx, bool is_there_now)
{
    cd_share_redis *s = ctx;
    if (is_there_now) {
        cd_log_info(s->log, "shared store is there");
    } else {
        cd_log_warn(s->log, "shared store is gone, going on alone");
    }
}

cd_err cd_share_redis_open(cd_share_redis **out, cd_prices_share *share, cd_loop *l, const char *url, cd_logger *log,
                           cd_errinfo *why)
{
    cd_share_redis *s = cd_new(cd_share_redis);
    cd_rng rng = cd_rng_os();
    s->log = log;
    (void)snprintf(s->token, sizeof s->token, "%016llx%016llx", (unsigned long long)cd_rng_u64(&rng),
                   (unsigned long long)cd_rng_u64(&rng));
    const cd_redis_cfg cfg = {.url = url, .changed = on_changed, .ctx = s};
    cd_err err = cd_redis_open(&s->redis, l, &cfg, why);
    if (err != CD_OK) {
        cd_free(s);
        return err;
    }
    cd_hmap_init(&s->held, CD_HASH_KEYED, 32, sizeof(cd_buf *));
    s->beat = cd_timer_new(l, on_beat, s);
    cd_timer_start(s->beat, BEAT_MS, BEAT_MS);
    *share = (cd_prices_share){.ctx = s, .is_there = is_there, .take = take, .put = put, .drop = drop};
    *out = s;
    return CD_OK;
}

void cd_share_redis_close(cd_share_redis *s)
{
    if (s != NULL) {
        void *v;
        s->is_closing = true;
        cd_timer_free(s->beat);
        cd_redis_close(s->redis);
        for (usize it = 0; cd_hmap_next(&s->held, &it, NULL, &v);) {
            cd_buf_fini(*(cd_buf **)v);
            cd_free(*(cd_buf **)v);
        }
        cd_hmap_fini(&s->held);
        cd_free(s);
    }
}
