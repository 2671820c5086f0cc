/* Every route over a loopback socket, on a store in a temporary folder. */
#include "services/webhook/api/mask.h"
#include "services/webhook/core/store/records.h"
#include "services/webhook/core/store/store_priv.h"
#include "services/webhook/test/api_rig.h"

#include <stdio.h>
#include <stdlib.h>

#include <signal.h>
#include <sys/resource.h>

#include <openssl/pem.h>
#include <openssl/x509.h>

#define ADDR  "0x9011e888251ab053b7bd1cdb598db4f9ded94714"
#define OTHER "0x52226d1637c2248f1d3ccc4405dd2ea1fafab4bf"
#define JSON  "Content-Type: application/json\r\n"

static const char body_a[] = "{\"url\":\"https://example.com/hook\",\"events\":[\"transfer\","
                             "\"contract_event\"],\"chain\":\"lux\",\"filters\":{\"address\":\"" ADDR "\"}}";
static const char body_b[] = "{\"url\":\"https://example.com/hook\",\"chain\":\"lux\","
                             "\"event_type\":\"address_activity\",\"config\":{\"addresses\":[\"" ADDR "\"]}}";
static const char body_c[] = "{\"name\":\"orders\",\"url\":\"https://example.com/hook\",\"chain\":"
                             "\"lux\",\"event_type\":\"TOKEN_TRANSFER\",\"filters\":{}}";

static api_rig rig;

static int open_rig(void **state)
{
    *state = &rig;
    api_rig_open(&rig);
    return 0;
}

static int close_rig(void **state)
{
    api_rig_close(*state);
    return 0;
}

/* A new second: nobody has asked for anything in it. */
static const char *ask(api_rig *g, int face, const char *method, const char *path, const char *head, const char *body)
{
    cd_clock_virtual_advance(&g->clock, CD_NS_PER_SEC);
    return api_rig_ask(g, face, method, path, head, body);
}

static void want(const char *answer, int status, const char *text)
{
    if (api_rig_status(answer) != status || (text != NULL && strstr(answer, text) == NULL)) {
        fail_msg("want %d and %s, got %s", status, text == NULL ? "" : text, answer);
    }
}

static void keys(void **state)
{
    api_rig *g = *state;
    char head[128];
    want(ask(g, -1, "GET", "/v1/webhooks", "", NULL), 401, "unauthorized");
    want(ask(g, -1, "GET", "/v1/webhooks", "Authorization: Bearer sk_no\r\n", NULL), 401, "WWW-Authenticate: Bearer");
    // each key in the header of another face
    (void)snprintf(head, sizeof head, "X-API-Key: %s\r\n", g->keys[CD_WH_A]);
    want(ask(g, -1, "GET", "/v1/webhooks", head, NULL), 401, "WWW-Authenticate: Bearer");
    (void)snprintf(head, sizeof head, "Authorization: Bearer %s\r\n", g->keys[CD_WH_B]);
    want(ask(g, -1, "GET", "/v1/webhooks", head, NULL), 401, "\"code\":\"unauthorized\"");
    (void)snprintf(head, sizeof head, "Authorization: Bearer %s\r\n", g->keys[CD_WH_C]);
    want(ask(g, -1, "GET", "/v1/webhooks", head, NULL), 200, "[]");
    want(ask(g, CD_WH_C, "GET", "/v1/webhooks", "", NULL), 200, "X-Svc-Quota-Remaining: 1000");
    // a key that may only read
    (void)snprintf(head, sizeof head, JSON "X-API-Key: %s\r\n", g->reader);
    want(ask(g, -1, "GET", "/v1/webhooks", head, NULL), 200, "\"webhooks\":[]");
    want(ask(g, -1, "POST", "/v1/webhooks", head, body_b), 403, "insufficient_scope");
    want(ask(g, -1, "GET", "/v1/health", "", NULL), 200, "\"status\":\"ok\"");
    want(ask(g, -1, "GET", "/ready", "", NULL), 200, "\"behind\":0");
}

static void strictness(void **state)
{
    api_rig *g = *state;
    char *large = malloc((256 << 10) + 2);
    memset(large, ' ', (256 << 10) + 1);
    large[(256 << 10) + 1] = '\0';
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, "{"), 400, "invalid_json");
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, "{\"url\":\"a\",\"url\":\"b\"}"), 400, "there twice");
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", "Content-Type: text/plain\r\n", body_b), 415,
         "unsupported_media_type");
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, large), 413, "payload_too_large");
    want(ask(g, CD_WH_B, "PUT", "/v1/webhooks", JSON, body_b), 405, "Allow: GET, HEAD, POST, OPTIONS");
    want(ask(g, CD_WH_A, "GET", "/v1/nothing", "", NULL), 404, "not_found");
    want(ask(g, CD_WH_A, "GET", "/v1/webhooks/wh-none", "", NULL), 404, "not_found");
    want(ask(g, CD_WH_A, "GET", "/v1/webhooks?limit=101", "", NULL), 400, "1 to 100");
    want(ask(g, CD_WH_A, "GET", "/v1/webhooks?cursor=x", "", NULL), 400, "cursor");
    want(ask(g, CD_WH_C, "POST", "/v1/webhooks", JSON, "{}"), 422,
         "{\"detail\":[{\"loc\":[\"body\",\"name\"],\"msg\":\"field "
         "required\",\"type\":\"missing\"}]}");
    want(ask(g, CD_WH_C, "POST", "/v1/webhooks", JSON,
             "{\"name\":\"n\",\"url\":\"https://10.0.0.1/\",\"chain\":\"lux\",\"event_type\":"
             "\"NEW_BLOCK\"}"),
         422, "value_error.url");
    want(
        ask(g, CD_WH_C, "POST", "/v1/webhooks", JSON, "{\"name\":\"n\",\"url\":\"https://e.org/\",\"chain\":\"moon\"}"),
        400, "{\"detail\":\"Unsupported chain: moon\"}");
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON,
             "{\"url\":\"https://10.0.0.1/\",\"chain\":\"lux\",\"event_type\":\"nft_transfer\","
             "\"config\":{}}"),
         400, "\"field\":\"url\"");
    free(large);
}

static void rates(void **state)
{
    api_rig *g = *state;
    want(ask(g, CD_WH_A, "GET", "/v1/webhooks", "", NULL), 200, "X-RateLimit-Limit: 25\r\n");
    want(api_rig_ask(g, CD_WH_A, "GET", "/v1/webhooks", "", NULL), 200, "X-RateLimit-Remaining: 23");
    for (u32 i = 0; i < 23; i++) {
        want(api_rig_ask(g, CD_WH_A, "GET", "/v1/webhooks", "", NULL), 200, NULL);
    }
    want(api_rig_ask(g, CD_WH_A, "GET", "/v1/webhooks", "", NULL), 429, "Retry-After: 1");
    want(api_rig_ask(g, CD_WH_B, "GET", "/v1/webhooks", "", NULL), 200, NULL);
    want(ask(g, CD_WH_A, "GET", "/v1/webhooks", "", NULL), 200, NULL);
}

static void life_of(api_rig *g, int face, const char *body, const char *off, const char *on)
{
    char id[128];
    char path[256];
    u32 changes = g->changed;
    want(ask(g, face, "POST", "/v1/webhooks", JSON, body), 201, NULL);
    assert_int_equal(g->changed, changes + 1);
    api_rig_value(id, (const char *)g->answer.p, "id");
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s", id);
    want(ask(g, face, "GET", path, "", NULL), 200, id);
    assert_null(strstr((const char *)g->answer.p, "secret"));
    want(ask(g, face, "GET", "/v1/webhooks", "", NULL), 200, id);
    for (int other = CD_WH_A; other <= CD_WH_C; other++) {
        if (other != face) {
            want(ask(g, other, "GET", path, "", NULL), 404, NULL);
            want(ask(g, other, "DELETE", path, "", NULL), 404, NULL);
        }
    }
    want(ask(g, face, "PATCH", path, JSON, off), 200, NULL);
    want(ask(g, face, "PATCH", path, JSON, on), 200, NULL);
    assert_true(g->due != 0);
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s/test", id);
    want(ask(g, face, "POST", path, JSON, "{}"), 200, "\"success\":true");
    want(ask(g, face, "POST", path, "", NULL), 200,
         face == CD_WH_A ? "\"responseTimeMs\":12" : "\"response_time_ms\":12");
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s/addresses", id);
    want(ask(g, face, "POST", path, JSON, "{\"add\":[\"" OTHER "\",\"" ADDR "\"],\"remove\":[]}"), 200,
         "\"addresses\":2");
    want(ask(g, face, "POST", path, JSON, "{\"remove\":[\"" ADDR "\"]}"), 200, "\"addresses\":1");
    want(ask(g, face, "POST", path, JSON, "{\"remove\":[\"" OTHER "\"]}"), 400, "must be left");
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s", id);
    want(ask(g, face, "GET", path, "", NULL), 200, OTHER);
    assert_null(strstr((const char *)g->answer.p, ADDR));
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s/rotate-secret/confirm", id);
    want(ask(g, face, "POST", path, "", NULL), 409, NULL);
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s/rotate-secret", id);
    want(ask(g, face, "POST", path, JSON, "{\"grace_seconds\":-1}"), face == CD_WH_C ? 422 : 400, NULL);
    want(ask(g, face, "POST", path, JSON, "{}"), 200, face == CD_WH_B ? "signing_secret" : "secret");
    static const char *const reads[] = {"deliveries", "stats", "ledger"};
    for (usize i = 0; i < CD_COUNT(reads); i++) {
        (void)snprintf(path, sizeof path, "/v1/webhooks/%s/%s", id, reads[i]);
        want(ask(g, face, "GET", path, "", NULL), 200, NULL);
    }
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s/deliveries/77", id);
    want(ask(g, face, "GET", path, "", NULL), 404, NULL);
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s/replay", id);
    want(ask(g, face, "POST", path, JSON, "{\"status\":[\"failed\"]}"), 202, "\"queued\":0");
    want(ask(g, face, "POST", path, JSON, "{\"status\":[\"gone\"]}"), 400, NULL);
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s", id);
    want(ask(g, face, "DELETE", path, "", NULL), 200,
         face == CD_WH_C ? "{\"status\":\"deleted\",\"id\":" : "\"deleted\":true}");
    want(ask(g, face, "DELETE", path, "", NULL), 404, NULL);
    want(ask(g, face, "GET", path, "", NULL), 404, NULL);
    want(ask(g, face, "GET", "/v1/events", "", NULL), 200, NULL);
    want(ask(g, face, "GET", "/v1/usage", "", NULL), 200, "\"tier\":\"free\"");
}

static void lives(void **state)
{
    api_rig *g = *state;
    life_of(g, CD_WH_A, body_a, "{\"status\":\"disabled\"}", "{\"status\":\"enabled\"}");
    life_of(g, CD_WH_B, body_b, "{\"status\":\"paused\"}", "{\"status\":\"active\"}");
    life_of(g, CD_WH_C, body_c, "{\"is_active\":false}", "{\"is_active\":true}");
    assert_int_equal(g->gone, 3);
    assert_int_equal(g->tested, 6);
}

static void repeats(void **state)
{
    api_rig *g = *state;
    char first[128];
    char second[128];
    u32 changes = g->changed;
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON "Idempotency-Key: k1\r\n", body_b), 201, "whsec_");
    api_rig_value(first, (const char *)g->answer.p, "id");
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON "Idempotency-Key: k1\r\n", body_b), 201, "whsec_");
    api_rig_value(second, (const char *)g->answer.p, "id");
    assert_string_equal(first, second);
    assert_int_equal(g->changed, changes + 1);
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON "Idempotency-Key: k1\r\n",
             "{\"url\":\"https://e.org/\",\"chain\":\"lux\",\"event_type\":\"nft_transfer\","
             "\"config\":{}}"),
         409, "idempotency_conflict");
    // four more fit into the free tier
    for (u32 i = 0; i < 4; i++) {
        want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, body_b), 201, NULL);
    }
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, body_b), 403, "webhook_limit_reached");
    want(ask(g, CD_WH_B, "GET", "/v1/webhooks?limit=2", "", NULL), 200, "\"page\":1,\"total\":5}");
    const char *link = strstr((const char *)g->answer.p, "Link: </v1/webhooks?limit=2&cursor=c");
    assert_non_null(link);
    want(ask(g, CD_WH_B, "GET", "/v1/webhooks?page=3&limit=2", "", NULL), 200, "\"page\":3");
    assert_null(strstr((const char *)g->answer.p, "Link:"));
    want(ask(g, CD_WH_B, "GET", "/v1/webhooks?status=paused", "", NULL), 200, "\"total\":0");
    // chain and event type stay
    char path[256];
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s", first);
    want(ask(g, CD_WH_B, "PATCH", path, JSON, "{\"chain\":\"lux\"}"), 400, "immutable_field");
    want(ask(g, CD_WH_B, "PATCH", path, JSON, "{\"config\":{\"addresses\":[\"" OTHER "\"]}}"), 200, "\"updated_at\"");
    want(ask(g, CD_WH_B, "GET", path, "", NULL), 200, OTHER);
    want(ask(g, CD_WH_B, "PATCH", path, JSON, "{\"url\":\"https://10.1.1.1/\"}"), 400, "invalid_url");
}

static void more(void **state)
{
    api_rig *g = *state;
    want(ask(g, CD_WH_A, "POST", "/v1/webhooks", JSON,
             "{\"url\":\"https://e.org/\",\"events\":[\"new_block\"],\"chain\":96369,"
             "\"from_block\":7}"),
         201, "\"chain\":\"lux\"");
    want(ask(g, CD_WH_A, "POST", "/v1/webhooks/preview", JSON,
             "{\"events\":[\"new_block\"],\"chain\":\"lux\",\"blocks\":20}"),
         200, "{\"blocks\":20,\"matchedBlocks\":12,\"events\":15,\"payloads\":[{\"id\":\"evt\"}]}");
    want(ask(g, CD_WH_A, "POST", "/v1/webhooks/preview", JSON,
             "{\"events\":[\"transfer\"],\"chain\":\"lux\",\"filters\":{\"contract\":\"" ADDR "\"}}"),
         502, "node_unavailable");
    want(ask(g, CD_WH_C, "PATCH", "/v1/webhooks/no?is_active=false", "", NULL), 404, NULL);
    want(ask(g, -1, "GET", "/openapi.json?variant=c", "", NULL), 200, "X-API-Key");
    want(ask(g, -1, "GET", "/openapi.json", "", NULL), 200, "\"bearer\"");
    want(ask(g, -1, "GET", "/metrics", "", NULL), 200, "webhook_requests_total{");
    // a revoked key is refused when what is known of it has aged
    want(ask(g, -1, "OPTIONS", "/v1/webhooks", "", NULL), 204, "Allow: GET, HEAD, POST");
}

static void operations(void **state)
{
    api_rig *g = *state;
    char id[128], ops[128], path[300];
    static const char with[] = "{\"url\":\"https://example.com/hook\",\"chain\":\"lux\","
                               "\"event_type\":\"log\",\"config\":{\"addresses\":[\"" ADDR "\"]},"
                               "\"ops_url\":\"https://%s/ops\"}";
    char body[400];
    (void)snprintf(body, sizeof body, with, "10.0.0.1");
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, body), 400, "\"field\":\"ops_url\"");
    (void)snprintf(body, sizeof body, with, "ops.example");
    u32 changed = g->changed;
    const char *a = ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, body);
    want(a, 201, "\"ops_secret\":\"whsec_");
    assert_int_equal(g->changed, changed + 2); /* both are known to who sends */
    api_rig_value(id, a, "id");
    api_rig_value(ops, a, "ops_webhook");
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s", id);
    a = ask(g, CD_WH_B, "GET", path, "", NULL);
    want(a, 200, "\"ops_url\":\"https://ops.example/ops\"");
    assert_null(strstr(a, "ops_secret"));
    /* moved: the same one; what else is changed leaves it alone */
    a = ask(g, CD_WH_B, "PATCH", path, JSON, "{\"ops_url\":\"https://other.example/\"}");
    want(a, 200, ops);
    assert_null(strstr(a, "ops_secret"));
    want(ask(g, CD_WH_B, "PATCH", path, JSON, "{\"concurrency\":2}"), 200, "other.example");
    want(ask(g, CD_WH_B, "PATCH", path, JSON, "{\"ops_url\":7}"), 400, "ops_url");

    (void)snprintf(path, sizeof path, "/v1/webhooks/%s", ops);
    want(ask(g, CD_WH_B, "GET", path, "", NULL), 200, "\"event_type\":\"webhook.paused\"");
    want(ask(g, CD_WH_B, "PATCH", path, JSON, "{\"url\":\"https://a.example/\"}"), 400, "is_target");
    want(ask(g, CD_WH_B, "PATCH", path, JSON, "{\"headers\":{\"X-Team\":\"ops\"}}"), 200, "X-Team");
    want(ask(g, CD_WH_B, "DELETE", path, "", NULL), 409, "is_target");
    /* it goes with its webhook */
    char own[300];
    (void)snprintf(own, sizeof own, "/v1/webhooks/%s", id);
    u32 gone = g->gone;
    want(ask(g, CD_WH_B, "DELETE", own, "", NULL), 200, "deleted");
    assert_int_equal(g->gone, gone + 2);
    want(ask(g, CD_WH_B, "GET", path, "", NULL), 404, NULL);

    /* of the project */
    static const char notify[] = "/v1/notifications";
    want(ask(g, CD_WH_A, "GET", notify, "", NULL), 200,
         "{\"email\":\"owner@harbour.example\",\"mail_paused\":true,\"mail_quota\":true,"
         "\"mail_dead\":true,\"ops_url\":null,\"ops_webhook\":null}");
    want(ask(g, CD_WH_A, "PATCH", notify, JSON, "{\"email\":\"a b\"}"), 400, "email");
    want(ask(g, CD_WH_A, "PATCH", notify, JSON, "{\"mail_dead\":1}"), 400, "mail_dead");
    want(ask(g, CD_WH_A, "PATCH", notify, JSON, "{\"ops_url\":\"https://10.1.1.1/\"}"), 400, "not allowed");
    want(ask(g, CD_WH_A, "PATCH", notify, JSON, "{\"ops_url\":\"https://ops.example/\",\"mail_dead\":false}"), 200,
         "\"mail_dead\":false,\"ops_url\":\"https://ops.example/\",\"ops_webhook\":\"wh-");
    want(ask(g, CD_WH_A, "PATCH", notify, JSON, "{\"ops_url\":null}"), 200, "\"ops_url\":null");
    want(ask(g, CD_WH_A, "PATCH", notify, JSON, "{\"ops_url\":null}"), 200, "\"ops_url\":null");
}

/* A certificate of "orders" and its key as JSON strings; valid from and until so many seconds from the rig's time. */
static void make_pair(char cert[2048], char key[1024], long from, long until)
{
    static const time_t now = 1768473322;
    X509 *x = X509_new();
    EVP_PKEY *k = EVP_EC_gen("P-256");
    BIO *bio[2] = {BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem())};
    char *out[2] = {cert, key};
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(x), 1), 1);
    assert_non_null(ASN1_TIME_set(X509_getm_notBefore(x), now + from));
    assert_non_null(ASN1_TIME_set(X509_getm_notAfter(x), now + until));
    assert_int_equal(
        X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, (const u8 *)"orders", -1, -1, 0), 1);
    assert_int_equal(X509_set_pubkey(x, k), 1);
    assert_true(X509_sign(x, k, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509(bio[0], x), 1);
    assert_int_equal(PEM_write_bio_PrivateKey(bio[1], k, NULL, NULL, 0, NULL, NULL), 1);
    for (usize i = 0; i < 2; i++) {
        char *p;
        long n = BIO_get_mem_data(bio[i], &p);
        usize at = 0;
        for (long c = 0; c < n; c++) {
            if (p[c] == '\n') {
                memcpy(out[i] + at, "\\n", 2);
                at += 2;
            } else {
                out[i][at++] = p[c];
            }
        }
        out[i][at] = '\0';
        BIO_free(bio[i]);
    }
    X509_free(x);
    EVP_PKEY_free(k);
}

static void certificates(void **state)
{
    static const char with[] = "{\"url\":\"https://example.com/hook\",\"chain\":\"lux\","
                               "\"event_type\":\"log\",\"config\":{\"addresses\":[\"" ADDR "\"]}";
    static const long day = 86400;
    api_rig *g = *state;
    char cert[3][2048], key[3][1024], body[6000], path[300], id[128];
    make_pair(cert[0], key[0], -day, 90 * day);
    make_pair(cert[1], key[1], -2 * day, -day);
    make_pair(cert[2], key[2], day, 2 * day);
    const struct {
        usize cert, key;
        const char *field, *text;
    } bad[] = {
        {0, 1, "client_key", "not that of the certificate"},
        {1, 1, "client_certificate", "has expired"},
        {2, 2, "client_certificate", "not valid yet"},
    };
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        (void)snprintf(body, sizeof body, "%s,\"client_certificate\":\"%s\",\"client_key\":\"%s\"}", with,
                       cert[bad[i].cert], key[bad[i].key]);
        const char *a = ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, body);
        want(a, 400, bad[i].text);
        want(a, 400, bad[i].field);
    }
    (void)snprintf(body, sizeof body, "%s,\"client_certificate\":\"%s\"}", with, cert[0]);
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, body), 400, "client_key");
    (void)snprintf(body, sizeof body, "%s,\"client_key\":\"%s\"}", with, key[0]);
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, body), 400, "a key needs its certificate");
    (void)snprintf(body, sizeof body, "%s,\"client_certificate\":\"no\",\"client_key\":\"no\"}", with);
    want(ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, body), 400, "no PEM");

    (void)snprintf(body, sizeof body, "%s,\"client_certificate\":\"%s\",\"client_key\":\"%s\"}", with, cert[0], key[0]);
    const char *a = ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, body);
    want(a, 201,
         "\"client_certificate\":{\"subject\":\"CN=orders\",\"issuer\":\"\","
         "\"expires_at\":\"2026-04-15T10:35:22Z\",\"sha256\":\"");
    assert_null(strstr(a, "PRIVATE"));
    assert_null(strstr(a, "BEGIN"));
    api_rig_value(id, a, "id");
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s", id);
    want(ask(g, CD_WH_B, "PATCH", path, JSON, "{\"concurrency\":3}"), 200, "CN=orders");
    a = ask(g, CD_WH_B, "GET", path, "", NULL);
    want(a, 200, "CN=orders");
    assert_null(strstr(a, "client_key"));
    a = ask(g, CD_WH_B, "PATCH", path, JSON, "{\"client_certificate\":null}");
    want(a, 200, "\"concurrency\":3");
    assert_null(strstr(a, "client_certificate"));
    want(ask(g, CD_WH_B, "DELETE", path, "", NULL), 200, NULL);
}

/* As if the file were damaged there. */
static const char *made_id;
static u64 made_from;

static cd_err read_from(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_arena mem = {0};
    cd_wh_hook hook = {0};
    (void)job;
    cd_err err = cd_wh_hook_get(s, &hook, &mem, "pb", made_id, false, why);
    made_from = hook.from_block;
    cd_arena_fini(&mem);
    return err;
}

/* What nobody knows is refused, in the body of every route that takes one. */
static void members(void **state)
{
    api_rig *g = *state;
    static const struct {
        int face;
        const char *method, *path, *body;
    } rows[] = {
        {CD_WH_A, "POST", "/v1/webhooks",
         "{\"url\":\"https://example.com/\",\"events\":[\"transfer\"],\"chain\":\"lux\",\"filter\":{}}"},
        {CD_WH_B, "POST", "/v1/webhooks",
         "{\"url\":\"https://example.com/"
         "\",\"chain\":\"lux\",\"event_type\":\"mined_transaction\",\"batch\":{\"max\":5}}"},
        {CD_WH_C, "POST", "/v1/webhooks/preview",
         "{\"chain\":\"lux\",\"event_type\":\"TOKEN_TRANSFER\",\"filter\":{}}"},
        {CD_WH_B, "PATCH", "/v1/webhooks/wh_000000000000", "{\"stauts\":\"paused\"}"},
        {CD_WH_B, "POST", "/v1/webhooks/wh_000000000000/replay", "{\"states\":[\"failed\"]}"},
        {CD_WH_B, "POST", "/v1/webhooks/wh_000000000000/rotate-secret", "{\"grace\":5}"},
        {CD_WH_B, "POST", "/v1/webhooks/wh_000000000000/test", "{\"type\":\"x\"}"},
        {CD_WH_B, "POST", "/v1/webhooks/wh_000000000000/addresses", "{\"added\":[]}"},
        {CD_WH_B, "PATCH", "/v1/notifications", "{\"url\":null}"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        const char *answer = ask(g, rows[i].face, rows[i].method, rows[i].path, JSON, rows[i].body);
        want(answer, rows[i].face == CD_WH_C ? 422 : 400, "is not known");
    }
}

/* A key that may only read sees no query of a URL, wherever it stands. */
static void masks(void **state)
{
    api_rig *g = *state;
    static const char body[] = "{\"url\":\"https://example.com/hook?token=sesame\",\"chain\":\"lux\",\"event_type\":"
                               "\"address_activity\",\"config\":{\"addresses\":[\"" ADDR "\"]},"
                               "\"ops_url\":\"https://example.com/ops?token=sesame\"}";
    char id[128], path[200], reader[128];
    api_rig_value(id, ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, body), "id");
    want(ask(g, CD_WH_B, "PATCH", "/v1/notifications", JSON, "{\"ops_url\":\"https://example.com/x?token=sesame\"}"),
         200, NULL);
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s", id);
    (void)snprintf(reader, sizeof reader, "X-API-Key: %s\r\n", g->reader);
    const char *const paths[] = {path, "/v1/webhooks", "/v1/notifications"};
    for (usize i = 0; i < CD_COUNT(paths); i++) {
        want(ask(g, CD_WH_B, "GET", paths[i], "", NULL), 200, "?token=sesame");
        const char *answer = ask(g, -1, "GET", paths[i], reader, NULL);
        want(answer, 200, "https://example.com/");
        assert_null(strstr(answer, "sesame"));
    }
    cd_arena mem = {0};
    assert_string_equal(cd_wh_mask_head(&mem, "POST /a?token=sesame HTTP/1.1\r\nX: ?\r\n"),
                        "POST /a HTTP/1.1\r\nX: ?\r\n");
    assert_string_equal(cd_wh_mask_head(&mem, "POST /a HTTP/1.1\r\nX: ?b\r\n"), "POST /a HTTP/1.1\r\nX: ?b\r\n");
    cd_arena_fini(&mem);
    want(ask(g, CD_WH_B, "PATCH", "/v1/notifications", JSON, "{\"ops_url\":null}"), 200, NULL);
    want(ask(g, CD_WH_B, "DELETE", path, "", NULL), 200, NULL);
    g->gone = 0; /* what others count */
}

/* While the service catches up, a new webhook is told from the node's head on. */
static void from_now(void **state)
{
    api_rig *g = *state;
    g->lag = 500;
    char id[128];
    api_rig_value(id, ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, body_b), "id");
    g->lag = 0;
    made_id = id;
    api_rig_work(g, read_from);
    assert_int_equal(made_from, 1204907);
    char path[200];
    (void)snprintf(path, sizeof path, "/v1/webhooks/%s", id);
    want(ask(g, CD_WH_B, "DELETE", path, "", NULL), 200, NULL);
    g->gone = 0; /* what others count */
}

static char audited[2][64];

static cd_err read_audit(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_arena mem = {0};
    cd_wh_audit *list;
    usize cnt = 0;
    (void)job;
    cd_err err = cd_wh_audit_list(s, &list, &cnt, &mem, "pb", 0, 2, why);
    for (usize i = 0; err == CD_OK && i < cnt; i++) {
        (void)snprintf(audited[i], sizeof audited[i], "%s", list[i].address);
    }
    cd_arena_fini(&mem);
    return err;
}

/* What was done is written down with the address it came from: the connection's, or what a proxy on this machine
 * says. */
static void addresses(void **state)
{
    api_rig *g = *state;
    static const char change[] = "{\"ops_url\":null}";
    want(ask(g, CD_WH_B, "PATCH", "/v1/notifications", JSON, change), 200, NULL);
    want(ask(g, CD_WH_B, "PATCH", "/v1/notifications", JSON "X-Forwarded-For: 10.1.1.1, 198.51.100.7\r\n", change), 200,
         NULL);
    api_rig_work(g, read_audit);
    assert_string_equal(audited[0], "198.51.100.7");
    assert_string_equal(audited[1], "127.0.0.1");
}

static cd_err lose_keys(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    (void)job;
    return cd_sql_exec(s->q, "ALTER TABLE api_key RENAME TO lost_key", why);
}

static cd_err find_keys(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    (void)job;
    return cd_sql_exec(s->q, "ALTER TABLE lost_key RENAME TO api_key", why);
}

/* A store that takes nothing, and one that does not answer for keys: neither is the caller's doing. */
static void no_store(void **state)
{
    api_rig *g = *state;
    struct rlimit was;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    const struct rlimit none = {.rlim_cur = 4096, .rlim_max = was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    const char *answer = ask(g, CD_WH_B, "POST", "/v1/webhooks", JSON, body_b);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    want(answer, 503, "Retry-After: ");
    want(answer, 503, "nothing was changed");
    want(ask(g, CD_WH_B, "GET", "/v1/webhooks", "", NULL), 200, NULL);
    api_rig_work(g, lose_keys);
    cd_clock_virtual_advance(&g->clock, 10 * CD_NS_PER_SEC);
    want(ask(g, CD_WH_B, "GET", "/v1/webhooks", "", NULL), 503, "Retry-After: ");
    api_rig_work(g, find_keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_store),   cmocka_unit_test(members),      cmocka_unit_test(from_now),
        cmocka_unit_test(masks),      cmocka_unit_test(addresses),    cmocka_unit_test(keys),
        cmocka_unit_test(strictness), cmocka_unit_test(rates),        cmocka_unit_test(lives),
        cmocka_unit_test(operations), cmocka_unit_test(certificates), cmocka_unit_test(repeats),
        cmocka_unit_test(more),
    };
    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
