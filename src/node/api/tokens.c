#include "node/api/tokens.h"

#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/os/rng.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "crypto/hash/hmac.h"

enum {
    KEY_LEN = 32,
    JTI_LEN = 20,
    JTI_TEXT = 27, /* in base64 for URLs */
    LIFE_S = 12 * 3600,
    TOKEN_MAX = 64 << 10,
    WRONG_MAX = 5, /* passwords a second */
};

/* {"alg":"HS256","typ":"JWT"} */
static const char header[] = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";

typedef struct revoked {
    char jti[JTI_TEXT];
    u64 exp_s;
} revoked;

struct cd_tokens {
    const cd_clock *clock;
    cd_secret password; /* its code under the key: KEY_LEN bytes, followed by the key */
    revoked *ended;
    usize ended_cnt;
    u64 wrong_s; /* the second in which wrong_cnt passwords were wrong */
    u32 wrong_cnt;
};

/* --- passwords --- */

static void code(const cd_tokens *t, u8 out[KEY_LEN], cd_bytes data)
{
    cd_hmac_sha256_key key;
    cd_hmac_sha256_init(&key, cd_bytes_of(t->password.p + KEY_LEN, KEY_LEN));
    cd_hmac_sha256_parts(out, &key, &data, 1);
    cd_wipe(&key, sizeof key);
}

static void set_password(cd_tokens *t, cd_bytes password)
{
    cd_rng rng = cd_rng_os();
    cd_rng_fill(&rng, t->password.p + KEY_LEN, KEY_LEN);
    code(t, t->password.p, password);
    t->ended_cnt = 0; /* none is good any more */
}

static cd_err check_strength(cd_bytes password, cd_errinfo *why)
{
    if (password.n == 0) {
        return cd_fail(why, CD_EINVAL, "empty password");
    }
    if (password.n > 1024) {
        return cd_fail(why, CD_EINVAL, "password exceeds maximum length of 1024 chars");
    }
    return password.n >= CD_TOKENS_PASSWORD_MIN ? CD_OK : cd_fail(why, CD_EINVAL, "password is too weak");
}

static cd_err check_password(cd_tokens *t, cd_bytes password, cd_errinfo *why)
{
    u8 got[KEY_LEN];
    u64 now = cd_clock_mono_ns(t->clock) / CD_NS_PER_SEC;
    if (t->wrong_s == now && t->wrong_cnt >= WRONG_MAX) {
        return cd_fail(why, CD_ELIMIT, "too many wrong passwords, try again in a second");
    }
    code(t, got, password);
    if (cd_ct_eq(got, t->password.p, KEY_LEN)) {
        return CD_OK;
    }
    t->wrong_cnt = t->wrong_s == now ? t->wrong_cnt + 1 : 1;
    t->wrong_s = now;
    return cd_fail(why, CD_EACCES, "incorrect password");
}

/* --- tokens --- */

/* What a token says. */
typedef struct claims {
    cd_bytes jti;
    u64 exp_s;
    cd_json endpoints;
} claims;

static void sign(const cd_tokens *t, cd_buf *out, cd_bytes signed_part)
{
    u8 mac[KEY_LEN];
    code(t, mac, signed_part);
    cd_base64url_enc(out, cd_bytes_of(mac, sizeof mac));
}

/* Takes a token apart whose signature is good and whose time is not up. */
static cd_err read_token(const cd_tokens *t, claims *out, cd_arena *a, cd_bytes token, cd_errinfo *why)
{
    cd_buf want = {0};
    cd_buf text = {0};
    cd_json doc;
    usize n = token.n; /* of what is signed: up to the last dot */
    while (n != 0 && token.p[n - 1] != '.') {
        n--;
    }
    n -= n != 0;
    const usize head_n = sizeof header - 1;
    if (n <= head_n + 1 || token.n > TOKEN_MAX || memcmp(token.p, header, head_n) != 0 || token.p[head_n] != '.') {
        return cd_fail(why, CD_EACCES, "invalid auth token: it is no token of this node");
    }
    sign(t, &want, cd_bytes_sub(token, 0, n));
    bool is_ours = want.n == token.n - n - 1 && cd_ct_eq(want.p, token.p + n + 1, want.n);
    cd_buf_fini(&want);
    if (!is_ours) {
        return cd_fail(why, CD_EACCES, "invalid auth token: signature is invalid");
    }
    cd_err e = cd_base64url_dec(&text, cd_bytes_sub(token, head_n + 1, n - head_n - 1));
    e = e != CD_OK ? e : cd_json_parse(&doc, a, cd_arena_dup(a, cd_buf_bytes(&text)), 0, NULL);
    cd_buf_fini(&text);
    e = e != CD_OK ? e : cd_json_str(&out->jti, cd_json_get(doc, "jti"), NULL);
    e = e != CD_OK ? e : cd_json_u64(&out->exp_s, cd_json_get(doc, "exp"), NULL);
    if (e != CD_OK || out->jti.n != JTI_TEXT) {
        return cd_fail(why, CD_EACCES, "invalid auth token: it does not say what it is for");
    }
    out->endpoints = cd_json_get(doc, "endpoints");
    return out->exp_s > cd_clock_wall_s(t->clock) ? CD_OK
                                                  : cd_fail(why, CD_EACCES, "invalid auth token: token is expired");
}

cd_err cd_tokens_make(cd_tokens *t, cd_buf *out, cd_bytes password, const cd_bytes *endpoints, usize cnt,
                      cd_errinfo *why)
{
    u8 jti[JTI_LEN];
    cd_rng rng = cd_rng_os();
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    if (cnt == 0) {
        return cd_fail(why, CD_EINVAL, "must name at least one endpoint");
    }
    if (cnt > CD_TOKENS_ENDPOINTS_MAX) {
        return cd_fail(why, CD_EINVAL, "can only name at most %d endpoints", CD_TOKENS_ENDPOINTS_MAX);
    }
    CD_TRY(check_password(t, password, why));
    cd_rng_fill(&rng, jti, sizeof jti);
    cd_buf id = {0};
    cd_base64url_enc(&id, cd_bytes_of(jti, sizeof jti));
    cd_json_w_obj(&w);
    cd_json_put_str(&w, "jti", cd_buf_bytes(&id));
    cd_json_put_u64(&w, "exp", cd_clock_wall_s(t->clock) + LIFE_S);
    cd_json_w_key(&w, "endpoints");
    cd_json_w_arr(&w);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_str(&w, endpoints[i]);
    }
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
    usize from = out->n;
    cd_buf_fmt(out, "%s.", header);
    cd_base64url_enc(out, cd_buf_bytes(&text));
    cd_bytes signed_part = cd_bytes_sub(cd_buf_bytes(out), from, out->n - from);
    cd_buf mac = {0};
    sign(t, &mac, signed_part);
    cd_buf_str(out, ".");
    cd_buf_put(out, cd_buf_bytes(&mac));
    cd_buf_fini(&mac);
    cd_buf_fini(&id);
    cd_buf_fini(&text);
    return CD_OK;
}

static bool is_ended(const cd_tokens *t, cd_bytes jti)
{
    for (usize i = 0; i < t->ended_cnt; i++) {
        if (memcmp(t->ended[i].jti, jti.p, JTI_TEXT) == 0) {
            return true;
        }
    }
    return false;
}

/* Those whose time is up need not be known. */
static void forget(cd_tokens *t)
{
    u64 now = cd_clock_wall_s(t->clock);
    usize kept = 0;
    for (usize i = 0; i < t->ended_cnt; i++) {
        if (t->ended[i].exp_s > now) {
            t->ended[kept++] = t->ended[i];
        }
    }
    t->ended_cnt = kept;
}

static cd_err end_token(cd_tokens *t, const claims *c, cd_errinfo *why)
{
    if (is_ended(t, c->jti)) {
        return CD_OK;
    }
    forget(t);
    if (t->ended_cnt == CD_TOKENS_REVOKED_MAX) {
        return cd_fail(why, CD_ELIMIT, "too many tokens are revoked: change the password, which ends them all");
    }
    t->ended = cd_realloc(t->ended, (t->ended_cnt + 1) * sizeof *t->ended);
    revoked *x = &t->ended[t->ended_cnt++];
    memcpy(x->jti, c->jti.p, JTI_TEXT);
    x->exp_s = c->exp_s;
    return CD_OK;
}

cd_err cd_tokens_revoke(cd_tokens *t, cd_bytes password, cd_bytes token, cd_errinfo *why)
{
    cd_arena a = {0};
    claims c;
    cd_err e = check_password(t, password, why);
    e = e != CD_OK ? e : read_token(t, &c, &a, token, why);
    e = e != CD_OK ? e : end_token(t, &c, why);
    cd_arena_fini(&a);
    return e;
}

cd_err cd_tokens_change(cd_tokens *t, cd_bytes old_password, cd_bytes new_password, cd_errinfo *why)
{
    if (cd_bytes_eq(old_password, new_password)) {
        return cd_fail(why, CD_EINVAL, "new password can't be same as old password");
    }
    CD_TRY(check_strength(new_password, why));
    CD_TRY(check_password(t, old_password, why));
    set_password(t, new_password);
    return CD_OK;
}

/* --- requests --- */

static bool ends_with(cd_bytes path, cd_bytes end)
{
    return path.n >= end.n && memcmp(path.p + path.n - end.n, end.p, end.n) == 0;
}

static bool allows(const claims *c, cd_bytes path)
{
    for (cd_json_it it = cd_json_iter(c->endpoints); cd_json_next(&it);) {
        cd_bytes end;
        if (cd_json_str(&end, it.val, NULL) == CD_OK &&
            (cd_bytes_eq(end, cd_bytes_str("*")) || (end.n != 0 && ends_with(path, end)))) {
            return true;
        }
    }
    return false;
}

cd_err cd_tokens_admit(cd_tokens *t, cd_bytes authorization, cd_bytes path, cd_errinfo *why)
{
    static const char bearer[] = "Bearer ";
    enum { BEARER = sizeof bearer - 1 };
    cd_arena a = {0};
    claims c;
    if (ends_with(path, cd_bytes_str("/auth"))) {
        return CD_OK; /* where tokens come from */
    }
    if (authorization.p == NULL) {
        return cd_fail(why, CD_EACCES, "auth token not provided");
    }
    if (authorization.n <= BEARER || memcmp(authorization.p, bearer, BEARER) != 0) {
        return cd_fail(why, CD_EACCES,
                       "couldn't parse auth token. Header \"Authorization\" should be \"Bearer "
                       "TOKEN.GOES.HERE\"");
    }
    cd_err e = read_token(t, &c, &a, cd_bytes_sub(authorization, BEARER, authorization.n - BEARER), why);
    if (e == CD_OK && is_ended(t, c.jti)) {
        e = cd_fail(why, CD_EACCES, "the provided auth token was revoked");
    } else if (e == CD_OK && !allows(&c, path)) {
        e = cd_fail(why, CD_EACCES, "the provided auth token does not allow access to this endpoint");
    }
    cd_arena_fini(&a);
    return e;
}

cd_err cd_tokens_new(cd_tokens **out, cd_bytes password, const cd_clock *clock, cd_errinfo *why)
{
    CD_TRY(check_strength(password, why));
    cd_tokens *t = cd_new(cd_tokens);
    t->clock = clock;
    cd_secret_init(&t->password, (usize)2 * KEY_LEN);
    set_password(t, password);
    *out = t;
    return CD_OK;
}

void cd_tokens_free(cd_tokens *t)
{
    if (t != NULL) {
        cd_secret_fini(&t->password);
        cd_free(t->ended);
        cd_free(t);
    }
}
