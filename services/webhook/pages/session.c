/* Sessions: an API key in a cookie, sealed under a key that is for nothing else. It is over after a month, or when
 * somebody signs out, wherever the cookie was copied to: what was ended is in the store until its month is over. */
#include "services/webhook/pages/visit.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/table/list.h"
#include "crypto/hash/hmac.h"
#include "crypto/hash/sha2.h"
#include "services/webhook/core/store/seal.h"

#include <stdio.h>

#define SESSION "candela_wh"

/* plain text: expiry (8) ‖ number (8) ‖ key */
enum {
    SESSION_DAYS = 30,
    COOKIE_MAX = 1024,
    SEAL_HEAD = 16,
};

void cd__wpage_sessions_init(cd_wh_pages *p)
{
    static const char about[] = "candela webhook sessions";
    cd_hmac_sha256_key master;
    const cd_bytes part = cd_bytes_str(about);
    cd_hmac_sha256_init(&master, cd_bytes_of(p->cfg.master_key, 32));
    cd_hmac_sha256_parts(p->session_key, &master, &part, 1);
    cd_wipe(&master, sizeof master);
}

cd_bytes cd__wpage_cookie(cd__wpage_visit *v, const char *name)
{
    cd_bytes rest = cd_http_req_header(v->req, "cookie");
    usize len = strlen(name);
    while (rest.n != 0) {
        const u8 *semi = memchr(rest.p, ';', rest.n);
        usize n = semi == NULL ? rest.n : (usize)(semi - rest.p);
        cd_bytes part = cd_bytes_sub(rest, 0, n);
        while (part.n != 0 && part.p[0] == ' ') {
            part = cd_bytes_sub(part, 1, part.n - 1);
        }
        if (part.n > len && memcmp(part.p, name, len) == 0 && part.p[len] == '=' && part.n <= COOKIE_MAX) {
            return cd_bytes_sub(part, len + 1, part.n - len - 1);
        }
        n += semi != NULL;
        rest = cd_bytes_sub(rest, n, rest.n - n);
    }
    return (cd_bytes){0};
}

void cd__wpage_csrf_of(char out[CD__WH_CSRF_LEN + 1], cd_bytes cookie)
{
    static const char about[] = "candela webhook form ";
    cd_sha256_ctx ctx;
    cd_hash32 hash;
    cd_sha256_init(&ctx);
    cd_sha256_update(&ctx, cd_bytes_str(about));
    cd_sha256_update(&ctx, cookie);
    cd_sha256_final(&ctx, &hash);
    cd_hex_fmt(out, cd_bytes_of(hash.b, CD__WH_CSRF_LEN / 2));
    out[CD__WH_CSRF_LEN] = '\0';
}

static void set_cookie(cd__wpage_visit *v, const char *value, u32 days)
{
    cd_bytes proto = cd_http_req_header(v->req, "x-forwarded-proto");
    bool is_https = cd_bytes_eq(proto, cd_bytes_str("https"));
    cd_buf line = {0};
    cd_buf_fmt(&line, "Set-Cookie: " SESSION "=%s; Path=/; Max-Age=%u; HttpOnly; SameSite=Lax%s\r\n", value,
               days * 86400, is_https ? "; Secure" : "");
    cd_http_req_add_lines(v->req, cd_buf_bytes(&line));
    cd_buf_fini(&line);
}

/* An empty key begins a session of nobody, for the form that signs in. */
void cd__wpage_sign_in(cd__wpage_visit *v, cd_bytes key)
{
    u8 *plain = cd_arena_alloc(&v->mem, SEAL_HEAD + key.n);
    cd_put_be64(plain, v->now_s + (u64)SESSION_DAYS * 86400);
    cd_rng_fill(&v->rng, plain + 8, 8);
    if (key.n != 0) {
        memcpy(plain + SEAL_HEAD, key.p, key.n);
    }
    cd_bytes sealed = cd_wh_seal(&v->mem, v->pages->session_key, cd_bytes_of(plain, SEAL_HEAD + key.n), "session");
    cd_wipe(plain, SEAL_HEAD + key.n);
    char *text = cd_arena_alloc(&v->mem, 2 * sealed.n + 1);
    cd_hex_fmt(text, sealed);
    text[2 * sealed.n] = '\0';
    set_cookie(v, text, SESSION_DAYS);
    cd__wpage_csrf_of(v->csrf, cd_bytes_of(text, 2 * sealed.n));
}

/* Opens the cookie; false when there is none that is good. */
static bool session_read(cd__wpage_visit *v)
{
    cd_bytes cookie = cd__wpage_cookie(v, SESSION);
    cd_bytes sealed;
    cd_bytes plain;
    if (cookie.n == 0 || cd_hex_parse_prefixed(&sealed, &v->mem, cookie) != CD_OK ||
        cd_wh_unseal(&plain, &v->mem, v->pages->session_key, sealed, "session", NULL) != CD_OK || plain.n < SEAL_HEAD ||
        cd_be64(plain.p) < v->now_s) {
        return false;
    }
    cd__wpage_csrf_of(v->csrf, cookie);
    cd_hex_fmt(v->session, cd_bytes_of(plain.p, SEAL_HEAD));
    v->session[sizeof v->session - 1] = '\0';
    v->key = cd_bytes_sub(plain, SEAL_HEAD, plain.n - SEAL_HEAD);
    return true;
}

/* --- those that were ended --- */

typedef struct looking {
    cd_job job;
    cd__wpage_visit *v;
    cd__wpage_session_fn *fn;
    bool is_over;
} looking;

static cd_err look_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    looking *l = cd_list_of(job, looking, job);
    return cd_wh_session_is_over(s, &l->is_over, l->v->session, why);
}

static void look_done(cd_job *job)
{
    looking *l = cd_list_of(job, looking, job);
    if (l->is_over) {
        l->v->csrf[0] = '\0';
    }
    l->fn(l->v, !l->is_over, job->err);
}

void cd__wpage_session(cd__wpage_visit *v, cd__wpage_session_fn *fn)
{
    if (!session_read(v)) {
        fn(v, false, CD_OK);
    } else if (v->key.n == 0) {
        fn(v, true, CD_OK); /* nobody's */
    } else if (cd_jobs_away(v->pages->cfg.db)) {
        fn(v, false, CD_ECLOSED);
    } else {
        looking *l = cd_arena_new(&v->mem, looking);
        l->v = v;
        l->fn = fn;
        l->job = (cd_job){.run = look_run, .done = look_done, .is_hasty = true};
        cd_jobs_read(v->pages->cfg.db, &l->job);
    }
}

cd_err cd__wpage_session_end(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    return v->key.n == 0 ? CD_OK : cd_wh_session_end(s, v->session, v->now_s, why);
}
