/* services/webhook/core/send/sign.h - the signatures of a delivery, as header lines.
 *
 *   B  X-Svc-Signature: hex(HMAC-SHA256(secret, timestamp "." body)), X-Svc-Timestamp
 *   C  X-Svc-Signature: sha256=hex(HMAC-SHA256(secret, body)); A's too, when the webhook has a secret
 *   standard, on wish: webhook-id, webhook-timestamp, webhook-signature over id "." timestamp "." body
 *
 * The key is the whole secret as text. During a rotation the old secret keeps X-Svc-Signature and the new one signs
 * X-Svc-Signature-Next. Keys of the standard headers come from the secret (HMAC of a label), so they rotate with it and
 * need no store of their own; then both signatures stand in the one header, the new one first.
 * Threading: pure. [spec:webhooks#4] */
#ifndef CD_WEBHOOK_CORE_SIGN_H
#define CD_WEBHOOK_CORE_SIGN_H

#include "base/mem/buf.h"
#include "crypto/hash/hmac.h"
#include "services/webhook/core/model.h"

/* How Standard Webhooks' signature is made, beside the face's own. */
typedef enum cd_wh_standard {
    CD_WH_STANDARD_OFF,
    CD_WH_STANDARD_V1,  /* HMAC-SHA256 */
    CD_WH_STANDARD_V1A, /* Ed25519 */
} cd_wh_standard;

/* A secret made ready; wipe it with cd_wipe. */
typedef struct cd_wh_sign_key {
    bool is_set;
    cd_hmac_sha256_key mac;
    cd_hmac_sha256_key standard;
    u8 seed[32]; /* of the Ed25519 key */
} cd_wh_sign_key;

/* cd_wh_sign_key_init makes a key of a secret; an empty one is not set. */
void cd_wh_sign_key_init(cd_wh_sign_key *out, cd_bytes secret);

/* What is signed, and how. */
typedef struct cd_wh_signing {
    cd_wh_face face;
    cd_wh_standard standard;
    const char *brand; /* "Svc" */
    const cd_wh_sign_key *key;
    const cd_wh_sign_key *next; /* NULL, or not set: no rotation */
    const char *id;             /* of the event */
    u64 now_s;                  /* of this attempt */
    cd_bytes body;
} cd_wh_signing;

/* cd_wh_sign appends header lines, each with CR LF; none when the key is not set. */
void cd_wh_sign(cd_buf *out, const cd_wh_signing *s);

/* The three signatures alone: 64 hex digits without a NUL; "v1,…" and "v1a,…" appended. */
void cd_wh_sign_b(char out[64], const cd_hmac_sha256_key *key, cd_bytes timestamp, cd_bytes body);
void cd_wh_sign_c(char out[64], const cd_hmac_sha256_key *key, cd_bytes body);
void cd_wh_sign_v1(cd_buf *out, const cd_hmac_sha256_key *key, cd_bytes id, cd_bytes timestamp, cd_bytes body);
void cd_wh_sign_v1a(cd_buf *out, const u8 seed[32], cd_bytes id, cd_bytes timestamp, cd_bytes body);

/* cd_wh_standard_secret appends what a receiver of the standard headers is given for a webhook's secret: "whsec_…" to
 * check v1 with, "whpk_…" for v1a. */
void cd_wh_standard_secret(cd_buf *out, cd_wh_standard standard, cd_bytes secret);

#endif
