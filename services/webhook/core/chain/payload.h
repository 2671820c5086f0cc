/* services/webhook/core/chain/payload.h - what the bodies of the three faces have in common; shared by a, b and
 * c/payload.c.
 *
 * Threading: confined. [spec:webhooks#3] */
#ifndef CD_WEBHOOK_CORE_PAYLOAD_H
#define CD_WEBHOOK_CORE_PAYLOAD_H

#include "services/webhook/core/chain/event.h"

/* A body that is being written. */
typedef struct cd__wh_body {
    cd_json_w w;
    const cd_wh_chain *chain;
    const cd_wh_facts *facts;
    const cd_wh_hit *hit;
    const cd_wh_token *token; /* never NULL: of a token that nobody asked about, everything is unknown */
    const char *uri;          /* NULL: none */
    const char *id;
    const char *time;    /* of the event: 2026-01-15T10:35:22Z */
    const char *time_ms; /* 2026-01-15T10:35:22.000Z */
    bool is_test;
} cd__wh_body;

/* cd__wh_a_body, _b_ and _c_ write the body of b->hit. */
void cd__wh_a_body(cd__wh_body *b);
void cd__wh_b_body(cd__wh_body *b);
void cd__wh_c_body(cd__wh_body *b);

/* Pairs. NULL is null. */
void cd__wh_put_str(cd__wh_body *b, const char *key, const char *v);
void cd__wh_put_u64(cd__wh_body *b, const char *key, u64 v);
void cd__wh_put_u64_str(cd__wh_body *b, const char *key, u64 v);
void cd__wh_put_dec(cd__wh_body *b, const char *key, const cd_u256 *v);
void cd__wh_put_units(cd__wh_body *b, const char *key, const cd_u256 *v, i32 decimals);
void cd__wh_put_addr(cd__wh_body *b, const char *key, const cd_addr20 *v);
void cd__wh_put_hash(cd__wh_body *b, const char *key, const cd_hash32 *v);
/* _finality: "finality":"final" where only final blocks are told of; else nothing. */
void cd__wh_put_finality(cd__wh_body *b);
/* _topics: topics and data of the hit's log, and what they mean where the webhook knows. */
void cd__wh_put_topics(cd__wh_body *b, const cd_wh_log *log);

/* cd__wh_tx_to: the callee, NULL for a creation. */
CD_INLINE const cd_addr20 *cd__wh_tx_to(const cd_wh_tx *tx)
{
    return tx->has_to ? &tx->to : NULL;
}

#endif
