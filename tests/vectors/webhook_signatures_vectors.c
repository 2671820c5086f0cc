/* Signatures of deliveries, and the verifier that receivers use, over all groups of webhooks/signatures.json; both are
 * checked, so that neither is the only judge of the other. [spec:webhooks#4] */
#include "base/hex.h"
#include "codec/base64.h"
#include "services/webhook/core/send/sign.h"
#include "services/webhook/core/send/verify.h"
#include "services/webhook/receiver/candela_webhook.h"
#include "tests/vectors/vec.h"

/* A member as text; NULL without. */
static const char *text_of(vec *v, cd_json o, const char *key)
{
    cd_bytes t;
    return cd_json_str(&t, cd_json_get(o, key), NULL) == CD_OK ? cd_arena_str(&v->arena, t) : NULL;
}

/* The request as it would come over the wire. */
static cd_bytes request_of(vec *v, cd_json headers, const char *body)
{
    cd_buf out = {0};
    cd_buf_str(&out, "POST /hook HTTP/1.1\r\nHost: example.com\r\n");
    for (cd_json_it it = cd_json_iter(headers); cd_json_next(&it);) {
        cd_bytes value = {0};
        vec_check(v, cd_json_str(&value, it.val, NULL) == CD_OK, "a header is no text");
        cd_buf_put(&out, it.key);
        cd_buf_str(&out, ": ");
        cd_buf_put(&out, value);
        cd_buf_str(&out, "\r\n");
    }
    cd_buf_fmt(&out, "\r\n%s", body);
    cd_bytes b = cd_arena_dup(&v->arena, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return b;
}

/* Lines that a delivery carries, compared with those of the file. */
static void check_lines(vec *v, cd_json headers, const cd_wh_signing *s, const char *name)
{
    cd_buf got = {0};
    cd_wh_sign(&got, s);
    const char *text = cd_buf_cstr(&got);
    usize n = 0;
    for (cd_json_it it = cd_json_iter(headers); cd_json_next(&it);) {
        cd_bytes value;
        if (it.key.n < 6 || memcmp(it.key.p, "X-Svc-", 6) != 0 || cd_json_str(&value, it.val, NULL) != CD_OK) {
            continue;
        }
        const char *line = cd_arena_fmt(&v->arena, "%.*s: %.*s\r\n", (int)it.key.n, it.key.p, (int)value.n, value.p);
        vec_check(v, strstr(text, line) != NULL, "%s: %s", name, line);
        n += strlen(line);
    }
    vec_check(v, n == got.n, "%s: other lines too", name);
    cd_buf_fini(&got);
}

static void run_svc(vec *v, cd_json group, cd_wh_face face)
{
    for (cd_json_it it = cd_json_iter(group); cd_json_next(&it);) {
        const char *secret = text_of(v, it.val, "secret");
        const char *body = text_of(v, it.val, "body_utf8");
        const char *name = face == CD_WH_B ? text_of(v, it.val, "name") : "C";
        cd_json headers = cd_json_get(it.val, "headers");
        u64 now = 0;
        cd_errinfo why = {0};
        if (face == CD_WH_B) {
            vec_check(v, cd_json_u64(&now, cd_json_get(it.val, "timestamp"), NULL) == CD_OK, "time");
        }
        cd_wh_sign_key key;
        cd_wh_sign_key none;
        cd_wh_sign_key_init(&key, cd_bytes_str(secret));
        cd_wh_sign_key_init(&none, (cd_bytes){0});
        const cd_wh_signing s = {.face = face,
                                 .brand = "Svc",
                                 .key = &key,
                                 .next = &none,
                                 .id = "evt",
                                 .now_s = now,
                                 .body = cd_bytes_str(body)};
        check_lines(v, headers, &s, name);
        cd_wh_scheme scheme = face == CD_WH_B ? CD_WH_SCHEME_B : CD_WH_SCHEME_C;
        vec_check(v, cd_wh_verify(scheme, "Svc", secret, request_of(v, headers, body), now, &why) == CD_OK, "%s: %s",
                  name, why.msg);
    }
}

static void run_invalid(vec *v, cd_json group, cd_wh_scheme scheme)
{
    for (cd_json_it it = cd_json_iter(group); cd_json_next(&it);) {
        u64 now = 0;
        cd_errinfo why = {0};
        cd_json time = cd_json_get(it.val, "now"); /* C has none */
        vec_check(v, !cd_json_has(time) || cd_json_u64(&now, time, NULL) == CD_OK, "time");
        cd_bytes request = request_of(v, cd_json_get(it.val, "headers"), text_of(v, it.val, "body_utf8"));
        vec_check(v, cd_wh_verify(scheme, "Svc", text_of(v, it.val, "secret"), request, now, &why) != CD_OK,
                  "%s: accepted", text_of(v, it.val, "name"));
    }
}

static void run_edges(vec *v, cd_json group, cd_json valid)
{
    for (cd_json_it it = cd_json_iter(group); cd_json_next(&it);) {
        u64 use;
        u64 now;
        bool ok = cd_json_u64(&use, cd_json_get(it.val, "use"), NULL) == CD_OK &&
                  cd_json_u64(&now, cd_json_get(it.val, "now"), NULL) == CD_OK;
        if (!ok) {
            vec_check(v, false, "an edge is malformed");
            continue;
        }
        cd_json entry = cd_json_at(valid, use);
        cd_json headers = cd_json_get(entry, "headers");
        const char *signature = text_of(v, it.val, "signature");
        signature = signature != NULL ? signature : text_of(v, headers, "X-Svc-Signature");
        const char *body = text_of(v, entry, "body_utf8");
        vec_check(v,
                  cd_webhook_verify_b(text_of(v, entry, "secret"), text_of(v, headers, "X-Svc-Timestamp"), signature,
                                      body, strlen(body), (i64)now) == CD_WEBHOOK_OK,
                  "%s: refused", text_of(v, it.val, "name"));
    }
}

static void append_v1(cd_buf *out, const char *secret, const char *id, const char *at, const char *body)
{
    cd_buf bytes = {0};
    cd_hmac_sha256_key key;
    if (cd_base64_dec(&bytes, cd_bytes_str(strchr(secret, '_') + 1)) == CD_OK) {
        cd_hmac_sha256_init(&key, cd_buf_bytes(&bytes));
        cd_wh_sign_v1(out, &key, cd_bytes_str(id), cd_bytes_str(at), cd_bytes_str(body));
    }
    cd_buf_fini(&bytes);
}

static void run_standard(vec *v, cd_json group)
{
    for (cd_json_it it = cd_json_iter(group); cd_json_next(&it);) {
        const char *id = text_of(v, it.val, "id");
        const char *at = text_of(v, it.val, "timestamp");
        const char *body = text_of(v, it.val, "body_utf8");
        const char *want = text_of(v, it.val, "webhook-signature");
        const char *secret = text_of(v, it.val, "secret");
        const char *public = text_of(v, it.val, "public");
        i64 now = (i64)strtoll(at, NULL, 10);
        cd_buf got = {0};
        if (public != NULL) {
            cd_buf seed = {0};
            vec_check(v, cd_base64_dec(&seed, cd_bytes_str(secret + 5)) == CD_OK && seed.n == 64, "whsk");
            cd_wh_sign_v1a(&got, seed.p, cd_bytes_str(id), cd_bytes_str(at), cd_bytes_str(body));
            cd_buf_fini(&seed);
        } else if (secret != NULL) {
            append_v1(&got, secret, id, at, body);
        }
        for (cd_json_it k = cd_json_iter(cd_json_get(it.val, "secrets")); cd_json_next(&k);) {
            cd_bytes one = {0};
            vec_check(v, cd_json_str(&one, k.val, NULL) == CD_OK, "a secret is no text");
            cd_buf_str(&got, got.n == 0 ? "" : " ");
            append_v1(&got, cd_arena_str(&v->arena, one), id, at, body);
            vec_check(v,
                      cd_webhook_verify_standard(cd_arena_str(&v->arena, one), id, at, want, body, strlen(body), now) ==
                          CD_WEBHOOK_OK,
                      "one of two secrets");
        }
        const char *name = text_of(v, it.val, "name");
        vec_check(v, cd_bytes_eq(cd_buf_bytes(&got), cd_bytes_str(want)), "%s: %s", name, cd_buf_cstr(&got));
        const char *with = public != NULL ? public : secret;
        if (with != NULL) {
            size_t n = strlen(body);
            vec_check(v, cd_webhook_verify_standard(with, id, at, want, body, n, now) == CD_WEBHOOK_OK, "%s", name);
            vec_check(v, cd_webhook_verify_standard(with, id, at, want, body, n - 1, now) == CD_WEBHOOK_FORGED,
                      "%s: body cut", name);
            vec_check(v, cd_webhook_verify_standard(with, "msg_x", at, want, body, n, now) == CD_WEBHOOK_FORGED,
                      "%s: other id", name);
            vec_check(v, cd_webhook_verify_standard(with, id, at, want, body, n, now + 301) == CD_WEBHOOK_LATE,
                      "%s: late", name);
            vec_check(v,
                      cd_webhook_verify_standard(with, id, at, "v2,AAAA v1 v1, =", body, n, now) == CD_WEBHOOK_FORGED,
                      "%s: other versions", name);
        }
        cd_buf_fini(&got);
    }
}

/* What a receiver of the standard headers is given opens what a webhook signs, both during a rotation. */
static void run_rotation(vec *v)
{
    static const char *const secrets[] = {"whsec_k7m9p2q4r6s8t0v2w4x6y8z0", "whsec_aaaaaaaaaaaaaaaaaaaaaaaa"};
    cd_wh_sign_key keys[2];
    for (usize i = 0; i < 2; i++) {
        cd_wh_sign_key_init(&keys[i], cd_bytes_str(secrets[i]));
    }
    for (cd_wh_standard standard = CD_WH_STANDARD_V1; standard <= CD_WH_STANDARD_V1A; standard++) {
        const cd_wh_signing s = {.face = CD_WH_B,
                                 .standard = standard,
                                 .brand = "Acme",
                                 .key = &keys[0],
                                 .next = &keys[1],
                                 .id = "evt_1",
                                 .now_s = 1000,
                                 .body = cd_bytes_str("{}")};
        cd_buf request = {0};
        cd_errinfo why = {0};
        cd_buf_str(&request, "POST / HTTP/1.1\r\n");
        cd_wh_sign(&request, &s);
        cd_buf_str(&request, "\r\n{}");
        for (usize i = 0; i < 2; i++) {
            cd_buf secret = {0};
            cd_wh_standard_secret(&secret, standard, cd_bytes_str(secrets[i]));
            vec_check(v,
                      cd_wh_verify(CD_WH_SCHEME_STANDARD, "Acme", cd_buf_cstr(&secret), cd_buf_bytes(&request), 1000,
                                   &why) == CD_OK,
                      "standard secret %zu: %s", i, why.msg);
            cd_buf_fini(&secret);
        }
        vec_check(v, cd_wh_verify(CD_WH_SCHEME_B, "Acme", secrets[0], cd_buf_bytes(&request), 1300, &why) == CD_OK,
                  "old secret: %s", why.msg);
        vec_check(v, cd_wh_verify(CD_WH_SCHEME_B, "Acme", secrets[1], cd_buf_bytes(&request), 1000, &why) == CD_ESIG,
                  "new secret");
        vec_check(v, cd_wh_verify(CD_WH_SCHEME_B, "Acme", secrets[0], cd_buf_bytes(&request), 1301, &why) == CD_ERANGE,
                  "late");
        vec_check(v, cd_wh_verify(CD_WH_SCHEME_B, "Svc", secrets[0], cd_buf_bytes(&request), 1000, &why) == CD_EFORMAT,
                  "other brand");
        char hex[64];
        cd_wh_sign_b(hex, &keys[1].mac, cd_bytes_str("1000"), cd_bytes_str("{}"));
        const char *line = cd_arena_fmt(&v->arena, "X-Acme-Signature-Next: %.64s\r\n", hex);
        vec_check(v, strstr(cd_buf_cstr(&request), line) != NULL, "the line of the new secret");
        cd_buf_fini(&request);
    }
    cd_errinfo why = {0};
    vec_check(v, cd_wh_verify(CD_WH_SCHEME_B, "Svc", "x", cd_bytes_str("no request"), 0, &why) == CD_EFORMAT, "text");
    vec_check(v, cd_wh_verify(CD_WH_SCHEME_C, "Svc", "x", (cd_bytes){0}, 0, &why) == CD_EFORMAT, "nothing");
}

static void run_sequence(vec *v)
{
    uint64_t last = 0;
    static const struct {
        const char *header;
        cd_webhook_order want;
        uint64_t last;
    } rows[] = {
        {"1", CD_WEBHOOK_NEXT, 1},
        {"2", CD_WEBHOOK_NEXT, 2},
        {"2", CD_WEBHOOK_REPEATED, 2},
        {"4", CD_WEBHOOK_GAP, 2},
        {"3", CD_WEBHOOK_NEXT, 3},
        {"4", CD_WEBHOOK_NEXT, 4},
        {"1", CD_WEBHOOK_REPEATED, 4},
        {NULL, CD_WEBHOOK_NO_NUMBER, 4},
        {"", CD_WEBHOOK_NO_NUMBER, 4},
        {"0", CD_WEBHOOK_NO_NUMBER, 4},
        {"5x", CD_WEBHOOK_NO_NUMBER, 4},
        {"-5", CD_WEBHOOK_NO_NUMBER, 4},
        {"99999999999999999999", CD_WEBHOOK_NO_NUMBER, 4},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        vec_check(v, cd_webhook_sequence(&last, rows[i].header) == rows[i].want && last == rows[i].last,
                  "sequence, row %zu", i);
    }
}

int main(void)
{
    vec v = {0};
    cd_json doc;
    if (vec_json(&v, &doc, vec_path(&v, "webhooks/signatures.json"))) {
        cd_json b = cd_json_get(doc, "B");
        run_svc(&v, b, CD_WH_B);
        run_svc(&v, cd_json_get(doc, "C"), CD_WH_C);
        run_svc(&v, cd_json_get(doc, "C"), CD_WH_A);
        run_invalid(&v, cd_json_get(doc, "B_invalid"), CD_WH_SCHEME_B);
        run_invalid(&v, cd_json_get(doc, "C_invalid"), CD_WH_SCHEME_C);
        run_edges(&v, cd_json_get(doc, "B_valid_edges"), b);
        run_standard(&v, cd_json_get(doc, "standard_webhooks"));
        run_rotation(&v);
        run_sequence(&v);
    }
    return vec_end(&v);
}
