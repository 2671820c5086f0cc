/* services/webhook/receiver/candela_webhook.h - checks at a receiver that a webhook request is genuine.
 *
 * One header, C11 or C++, no part of Candela but this file; link with OpenSSL's libcrypto (-lcrypto). All functions
 * are pure and may be called from any thread. README.md beside this file is the manual.
 *
 *   cd_webhook_verify_b         X-Svc-Signature and X-Svc-Timestamp            (face B)
 *   cd_webhook_verify_c         X-Svc-Signature: sha256=…                      (face C, and A with a secret)
 *   cd_webhook_verify_standard  webhook-id, webhook-timestamp, webhook-signature (any face, on wish)
 *   cd_webhook_sequence         X-Svc-Sequence: new, repeated, or something before it is missing
 *   cd_webhook_chain            X-Svc-Chain: proof that nothing before it was left out
 *
 * Verify the bytes of the body as they came, before any parser touches them. Answer 401 to what is refused. */
#ifndef CANDELA_WEBHOOK_H
#define CANDELA_WEBHOOK_H

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <stdint.h>
#include <string.h>

/* Seconds that a timestamp may differ from the clock of the receiver, in both directions. */
enum { CD_WEBHOOK_TOLERANCE_S = 300 };

/* What the check of a delivery found. */
typedef enum cd_webhook_result {
    CD_WEBHOOK_OK = 0,
    CD_WEBHOOK_MALFORMED, /* a header is missing (NULL) or not of its form, or the secret is none */
    CD_WEBHOOK_LATE,      /* the timestamp is too old, or too far ahead: a replay, or a wrong clock */
    CD_WEBHOOK_FORGED,    /* the signature is not that of this body */
} cd_webhook_result;

/* cd_webhook_result_str says it in words. */
static inline const char *cd_webhook_result_str(cd_webhook_result r)
{
    static const char *const words[] = {"genuine", "a header is missing or malformed",
                                        "the timestamp is out of tolerance", "the signature does not match"};
    return words[r];
}

/* --- helpers --- */

/* Decimal digits alone, at most 15 of them. */
static inline int cd_webhook__seconds(int64_t *out, const char *text)
{
    int64_t v = 0;
    size_t n = 0;
    for (; text[n] != '\0'; n++) {
        if (text[n] < '0' || text[n] > '9' || n == 15) {
            return 0;
        }
        v = v * 10 + (text[n] - '0');
    }
    *out = v;
    return n != 0;
}

/* Is the timestamp near enough to now, in seconds since 1970? */
static inline cd_webhook_result cd_webhook__in_time(const char *timestamp, int64_t now)
{
    int64_t then;
    if (timestamp == NULL || !cd_webhook__seconds(&then, timestamp)) {
        return CD_WEBHOOK_MALFORMED;
    }
    int64_t apart = now < then ? then - now : now - then;
    return apart > CD_WEBHOOK_TOLERANCE_S ? CD_WEBHOOK_LATE : CD_WEBHOOK_OK;
}

/* 64 hexadecimal digits, nothing else. */
static inline int cd_webhook__hex32(unsigned char out[32], const char *text)
{
    if (strlen(text) != 64) {
        return 0;
    }
    for (size_t i = 0; i < 64; i++) {
        char c = text[i];
        int v = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (v < 0) {
            return 0;
        }
        out[i / 2] = (unsigned char)(i % 2 == 0 ? v << 4 : out[i / 2] | v);
    }
    return 1;
}

/* Padded base64 of at most max bytes; the number of bytes, or -1. */
static inline int cd_webhook__base64(unsigned char *out, int max, const char *text, size_t n)
{
    unsigned char all[192];
    size_t pad = n >= 2 && text[n - 2] == '=' ? 2 : n >= 1 && text[n - 1] == '=' ? 1 : 0;
    if (n == 0 || n % 4 != 0 || n / 4 * 3 > sizeof all) {
        return -1;
    }
    int len = EVP_DecodeBlock(all, (const unsigned char *)text, (int)n);
    len = len < 0 ? -1 : len - (int)pad;
    if (len < 0 || len > max) {
        return -1;
    }
    memcpy(out, all, (size_t)len);
    OPENSSL_cleanse(all, sizeof all);
    return len;
}

/* HMAC-SHA256 of prefix and body one behind the other; 0 when memory ran out. */
static inline int cd_webhook__hmac(unsigned char out[32], const void *key, size_t key_len, const char *const *prefix,
                                   const void *body, size_t body_len)
{
    size_t at = 0;
    for (size_t i = 0; prefix[i] != NULL; i++) {
        at += strlen(prefix[i]) + 1;
    }
    unsigned char *all = (unsigned char *)OPENSSL_malloc(at + body_len + 1);
    if (all == NULL) {
        return 0;
    }
    at = 0;
    for (size_t i = 0; prefix[i] != NULL; i++) {
        size_t n = strlen(prefix[i]);
        memcpy(all + at, prefix[i], n);
        all[at + n] = '.';
        at += n + 1;
    }
    if (body_len != 0) {
        memcpy(all + at, body, body_len);
    }
    unsigned len = 32;
    int ok = HMAC(EVP_sha256(), key_len == 0 ? "" : key, (int)key_len, all, at + body_len, out, &len) != NULL;
    OPENSSL_free(all);
    return ok;
}

/* 1: the signature of "id.timestamp.body" is that key's. */
static inline int cd_webhook__ed25519(const unsigned char key[32], const unsigned char signature[64], const char *id,
                                      const char *timestamp, const void *body, size_t body_len)
{
    size_t id_len = strlen(id);
    size_t time_len = strlen(timestamp);
    size_t n = id_len + time_len + 2;
    unsigned char *all = (unsigned char *)OPENSSL_malloc(n + body_len + 1);
    EVP_PKEY *public_key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    int ok = all != NULL && public_key != NULL && ctx != NULL;
    if (ok) {
        memcpy(all, id, id_len);
        all[id_len] = '.';
        memcpy(all + id_len + 1, timestamp, time_len);
        all[n - 1] = '.';
        if (body_len != 0) {
            memcpy(all + n, body, body_len);
        }
        ok = EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, public_key) == 1 &&
             EVP_DigestVerify(ctx, signature, 64, all, n + body_len) == 1;
    }
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(public_key);
    OPENSSL_free(all);
    return ok;
}

/* --- what a receiver calls --- */

/* cd_webhook_verify_b: signature is X-Svc-Signature (or, with the new secret during a rotation, X-Svc-Signature-Next),
 * timestamp X-Svc-Timestamp, secret the whole "whsec_…" text, now the receiver's clock in seconds since 1970. */
static inline cd_webhook_result cd_webhook_verify_b(const char *secret, const char *timestamp, const char *signature,
                                                    const void *body, size_t body_len, int64_t now)
{
    unsigned char want[32];
    unsigned char got[32];
    cd_webhook_result r = cd_webhook__in_time(timestamp, now);
    if (r == CD_WEBHOOK_MALFORMED || signature == NULL || !cd_webhook__hex32(got, signature)) {
        return CD_WEBHOOK_MALFORMED;
    }
    const char *const prefix[] = {timestamp, NULL};
    if (!cd_webhook__hmac(want, secret, strlen(secret), prefix, body, body_len) || CRYPTO_memcmp(want, got, 32) != 0) {
        return CD_WEBHOOK_FORGED;
    }
    return r;
}

/* cd_webhook_verify_c: signature is X-Svc-Signature, "sha256=" and the digest. Nothing guards against replays here but
 * the event id (X-Webhook-Idempotency-Key), which the receiver remembers. */
static inline cd_webhook_result cd_webhook_verify_c(const char *secret, const char *signature, const void *body,
                                                    size_t body_len)
{
    unsigned char want[32];
    unsigned char got[32];
    static const char *const prefix[] = {NULL};
    if (signature == NULL || strncmp(signature, "sha256=", 7) != 0 || !cd_webhook__hex32(got, signature + 7)) {
        return CD_WEBHOOK_MALFORMED;
    }
    return cd_webhook__hmac(want, secret, strlen(secret), prefix, body, body_len) && CRYPTO_memcmp(want, got, 32) == 0
               ? CD_WEBHOOK_OK
               : CD_WEBHOOK_FORGED;
}

/* cd_webhook_verify_standard: Standard Webhooks. secret is "whsec_…" (for v1 signatures) or "whpk_…" (for v1a); any of
 * the signatures in the header may match. */
static inline cd_webhook_result cd_webhook_verify_standard(const char *secret, const char *id, const char *timestamp,
                                                           const char *signature, const void *body, size_t body_len,
                                                           int64_t now)
{
    unsigned char key[128];
    unsigned char want[32];
    unsigned char got[64];
    int is_public = strncmp(secret, "whpk_", 5) == 0;
    const char *text = strchr(secret, '_');
    text = text == NULL ? secret : text + 1;
    int key_len = cd_webhook__base64(key, (int)sizeof key, text, strlen(text));
    cd_webhook_result r = cd_webhook__in_time(timestamp, now);
    if (r == CD_WEBHOOK_MALFORMED || id == NULL || signature == NULL || key_len <= 0 || (is_public && key_len != 32)) {
        return CD_WEBHOOK_MALFORMED;
    }
    const char *const prefix[] = {id, timestamp, NULL};
    int ok = is_public || cd_webhook__hmac(want, key, (size_t)key_len, prefix, body, body_len);
    const char *version = is_public ? "v1a," : "v1,";
    size_t version_len = strlen(version);
    int matches = 0;
    while (ok && *signature != '\0') {
        size_t n = strcspn(signature, " ");
        if (n > version_len && strncmp(signature, version, version_len) == 0) {
            int len = cd_webhook__base64(got, (int)sizeof got, signature + version_len, n - version_len);
            matches |= is_public ? len == 64 && cd_webhook__ed25519(key, got, id, timestamp, body, body_len)
                                 : len == 32 && CRYPTO_memcmp(want, got, 32) == 0;
        }
        signature += n;
        signature += strspn(signature, " ");
    }
    OPENSSL_cleanse(key, sizeof key);
    return matches ? r : CD_WEBHOOK_FORGED;
}

/* What the number of a delivery says. */
typedef enum cd_webhook_order {
    CD_WEBHOOK_NEXT,      /* the one that was expected; *last is moved on */
    CD_WEBHOOK_REPEATED,  /* seen already, or a retry that comes late */
    CD_WEBHOOK_GAP,       /* numbers between *last and this one have not come; *last is as before */
    CD_WEBHOOK_NO_NUMBER, /* no or a malformed header */
} cd_webhook_order;

/* cd_webhook_sequence compares X-Svc-Sequence with the last number that was handled (0 at the start, then kept with
 * the receiver's own data). After a GAP the receiver fetches what is missing from the ledger, or waits for it: first
 * attempts come in order, retries do not. */
static inline cd_webhook_order cd_webhook_sequence(uint64_t *last, const char *header)
{
    int64_t n;
    if (header == NULL || !cd_webhook__seconds(&n, header) || n == 0) {
        return CD_WEBHOOK_NO_NUMBER;
    }
    if ((uint64_t)n <= *last) {
        return CD_WEBHOOK_REPEATED;
    }
    if ((uint64_t)n > *last + 1) {
        return CD_WEBHOOK_GAP;
    }
    *last = (uint64_t)n;
    return CD_WEBHOOK_NEXT;
}

/* cd_webhook_chain proves more than the number does: X-Svc-Chain is the hash of the item before, of this event's
 * hash (X-Svc-Event-Hash) and of the body. last is the chain value of the item before, zeros at the start; it is
 * moved on when 1 is given, and left when 0 is: then something was left out, or is not what was sent. */
static inline int cd_webhook_chain(unsigned char last[32], const char *event_hash, const char *chain, const void *body,
                                   size_t body_len)
{
    unsigned char parts[96];
    unsigned char want[32];
    unsigned char got[32];
    if (event_hash == NULL || chain == NULL || !cd_webhook__hex32(parts + 32, event_hash) ||
        !cd_webhook__hex32(got, chain)) {
        return 0;
    }
    memcpy(parts, last, 32);
    if (EVP_Digest(body_len == 0 ? "" : body, body_len, parts + 64, NULL, EVP_sha256(), NULL) != 1 ||
        EVP_Digest(parts, sizeof parts, want, NULL, EVP_sha256(), NULL) != 1 || memcmp(want, got, 32) != 0) {
        return 0;
    }
    memcpy(last, got, 32);
    return 1;
}

#endif
