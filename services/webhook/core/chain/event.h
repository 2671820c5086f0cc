/* services/webhook/core/chain/event.h - a hit becomes an event: its identity and the bytes that a receiver gets.
 *
 *   hit + facts + names of tokens ─► h ─► id ─► body of the webhook's face
 *
 * Pure functions of block and webhook: made again after a crash, they are the same to the byte. Bodies are compact
 * JSON with fields in the documented order. Threading: pure. [spec:webhooks#3, #5] */
#ifndef CD_WEBHOOK_CORE_EVENT_H
#define CD_WEBHOOK_CORE_EVENT_H

#include "services/webhook/core/chain/match.h"
#include "services/webhook/core/store/records.h"

/* The chain that events are of. */
typedef struct cd_wh_chain {
    const char *name;   /* "lux" */
    const char *symbol; /* of its coin: "LUX" */
    u64 id;
    bool is_final; /* only blocks that the node says are final are told of, and bodies say so */
} cd_wh_chain;

/* What tokens say of themselves; all were asked for before. */
typedef struct cd_wh_names {
    const cd_wh_token *(*token)(const void *ctx, const cd_addr20 *contract); /* NULL: nothing */
    const char *(*uri)(const void *ctx, const cd_wh_hit *hit);               /* NULL: none */
    const void *ctx;
} cd_wh_names;

/* What an event needs to know of the token it is about. */
typedef enum cd_wh_need { CD_WH_NEED_NOTHING, CD_WH_NEED_COIN, CD_WH_NEED_NFT } cd_wh_need;
/* cd_wh_hit_need says what has to be asked for before a match can be told. */
cd_wh_need cd_wh_hit_need(const cd_wh_hit *hit);

/* cd_wh_events_make gives one event a hit, in the same order, in mem. */
cd_wh_event *cd_wh_events_make(cd_arena *mem, const cd_wh_chain *chain, const cd_wh_facts *facts, const cd_wh_hit *hits,
                               usize hits_cnt, const cd_wh_names *names);

/* cd_wh_event_id writes the id that a face shows of an identity. */
void cd_wh_event_id(char out[CD_WH_EVENT_ID_MAX], cd_wh_face face, const u8 h[32], u64 time_ms);

/* cd_wh_event_example gives what a webhook would get for something made up, with "test":true: for test deliveries and
 * for showing what events look like. Of hook count key and id. */
cd_wh_event cd_wh_event_example(cd_arena *mem, const cd_wh_chain *chain, const cd_wh_hook *hook, cd_wh_type type,
                                u64 now_ms);

/* cd_wh_units_fmt writes value / 10^decimals exactly, with at least one digit behind the dot, and a NUL; gives its
 * length. decimals <= 255. */
enum { CD_WH_UNITS_MAX = 336 };
usize cd_wh_units_fmt(char out[CD_WH_UNITS_MAX], const cd_u256 *value, u32 decimals);

#endif
