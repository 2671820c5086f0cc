/* services/webhook/core/model.h - what the parts of the webhook service speak of.
 *
 *   follower ─► block facts ─► matcher ─► events ─► store (one transaction with the cursor) ─► deliverer ─► receiver
 *
 * Projects own keys and webhooks; a project has one face (variant), so a key decides it. A webhook's configuration is
 * kept twice: as the JSON its face answers, and as the filter that matching uses. An event is a match of one webhook;
 * its id and body are pure functions of chain and webhook. A delivery is the ledger row of an event: every match has
 * one, whatever becomes of it. Times are milliseconds since 1970. Threading: plain values.
 * [spec:webhooks] */
#ifndef CD_WEBHOOK_CORE_MODEL_H
#define CD_WEBHOOK_CORE_MODEL_H

#include "base/bytes.h"
#include "num/u256.h"

/* The three management interfaces. */
typedef enum cd_wh_face { CD_WH_A, CD_WH_B, CD_WH_C } cd_wh_face;

/* Event types of all faces; a webhook's set of them is a mask of 1 << type. */
typedef enum cd_wh_type {
    CD_WH_A_TRANSFER,
    CD_WH_A_ERC20,
    CD_WH_A_ERC721,
    CD_WH_A_ERC1155,
    CD_WH_A_CONTRACT,
    CD_WH_A_BLOCK,
    CD_WH_B_ADDRESS,
    CD_WH_B_TOKEN,
    CD_WH_B_NFT,
    CD_WH_B_MINED,
    CD_WH_B_LOG,
    CD_WH_C_ADDRESS,
    CD_WH_C_MINED,
    CD_WH_C_NFT,
    CD_WH_C_TOKEN,
    CD_WH_C_INTERNAL,
    CD_WH_C_BLOCK,
    CD_WH_C_PENDING,
    CD_WH_TYPES_CNT,
} cd_wh_type;

/* What happens to webhooks themselves (core/notice.h); in masks beside the types of events, as bits above theirs. */
typedef enum cd_wh_notice_type {
    CD_WH_NOTICE_FIRST = 24,
    CD_WH_NOTICE_PAUSED = CD_WH_NOTICE_FIRST,
    CD_WH_NOTICE_DISABLED,
    CD_WH_NOTICE_RESUMED,
    CD_WH_NOTICE_FAILED, /* an event was given up, and its webhook goes on */
    CD_WH_NOTICE_WARNING,
    CD_WH_NOTICE_QUOTA,
    CD_WH_NOTICE_L1, /* how the L1 is whose chain is followed */
    CD_WH_NOTICE_END,
} cd_wh_notice_type;

enum { CD_WH_NOTICES = (int)((1u << CD_WH_NOTICE_END) - (1u << CD_WH_NOTICE_FIRST)) };

/* Of all faces; A says enabled/disabled, B active/paused/disabled, C is_active. Names are the face's business. */
typedef enum cd_wh_status { CD_WH_ACTIVE, CD_WH_PAUSED, CD_WH_DISABLED } cd_wh_status;

/* What is done when blocks were replaced: the ledger goes on from where the chains part (on a development network
 * alone, or wherever the node leads), or the chain is not followed any more until somebody resets its cursor. */
typedef enum cd_wh_replaced { CD_WH_REPLACED_AUTO, CD_WH_REPLACED_FOLLOW, CD_WH_REPLACED_STOP } cd_wh_replaced;

/* Of a delivery. The store counts on their numbers: from RETRYING on it is something to look at. [spec:webhooks#5] */
typedef enum cd_wh_state {
    CD_WH_PENDING,    /* waits for its first attempt */
    CD_WH_DELIVERING, /* leased to a worker, from the claim until it is settled */
    CD_WH_DELIVERED,
    CD_WH_RETRYING, /* waits for another attempt */
    CD_WH_FAILED,   /* all attempts used, or it can never be sent */
    CD_WH_HELD,     /* was waiting when the webhook was paused */
    CD_WH_SKIPPED,  /* matched while the webhook was not active */
    CD_WH_QUOTA_EXCEEDED,
    CD_WH_CANCELLED, /* the webhook is gone */
    CD_WH_STATES_CNT,
} cd_wh_state;

enum {
    CD_WH_ID_MAX = 40,       /* of webhooks, deliveries, projects, keys, with NUL */
    CD_WH_EVENT_ID_MAX = 32, /* "evt_" and 26 characters, with NUL */
    CD_WH_URL_MAX = 2048,
    CD_WH_ADDRESSES_MAX = 100000, /* of one webhook */
    CD_WH_BODY_MAX = 256 << 10,
};

/* A list of addresses. */
typedef struct cd_wh_addrs {
    const cd_addr20 *p; /* in the order in which they were added: an event's sub is a position */
    usize n;
} cd_wh_addrs;

/* A list of 32-byte words. */
typedef struct cd_wh_words { /* hashes, topics, token ids */
    const cd_hash32 *p;
    usize n;
} cd_wh_words;

/* Which transfers of a watched address count. */
typedef enum cd_wh_direction { CD_WH_BOTH, CD_WH_INCOMING, CD_WH_OUTGOING } cd_wh_direction;

/* What a webhook watches. An empty list is no condition; lists are alternatives, fields are conditions all of which
 * hold. What a field means for a type is said in [spec:webhooks#2.2, #2.3, #5]. */
typedef struct cd_wh_filter {
    cd_wh_addrs addresses; /* A's filters.address, B's config.addresses, C's address */
    cd_wh_addrs from, to;  /* C */
    cd_wh_addrs contracts; /* A's contract, B's contracts, C's contract and tokenContract */
    cd_wh_words topics[4]; /* as eth_getLogs; C's topicHash is topics[0] */
    cd_wh_words token_ids;
    cd_wh_words tx_hashes;
    const u32 *selectors; /* big-endian value of the four bytes */
    usize selectors_cnt;
    cd_u256 min_value; /* zero: none */
    cd_wh_direction direction;
} cd_wh_filter;

/* A webhook as it is stored. Text is NUL-terminated and borrowed from whoever gave the record. */
typedef struct cd_wh_hook {
    i64 key; /* the store's number of it, > 0, never used again */
    const char *id;
    const char *project;
    cd_wh_face face;
    const char *name; /* C; else "" */
    const char *url;
    const char *chain;   /* as configured: "lux" */
    const char *network; /* C; else "" */
    u32 types;           /* mask */
    cd_wh_status status;
    cd_bytes config;      /* filters or config as the face answers them, without many addresses */
    cd_bytes settings;    /* JSON object: headers, standard_headers, batch, ops_url …; "{}" */
    cd_bytes secret;      /* in the clear; empty: none */
    cd_bytes secret_next; /* during a rotation */
    cd_bytes client;      /* PEM: certificate and key to show to the receiver; empty: none */
    u64 grace_until_ms;
    u64 failures; /* attempts that failed since the last success */
    u64 last_ms;  /* last event, 0: never */
    u64 created_ms, updated_ms;
    u64 from_block;  /* effective from here on */
    u64 version;     /* of the store: the change that made it what it is */
    bool is_strict;  /* one delivery at a time, in the order of sequence */
    u32 concurrency; /* attempts at a time; 0: the default */
    cd_wh_filter filter;
} cd_wh_hook;

/* cd_wh_hook_is_target: it is told of other webhooks, and matches nothing. */
CD_INLINE bool cd_wh_hook_is_target(const cd_wh_hook *h)
{
    return (h->types & CD_WH_NOTICES) != 0;
}

/* A match, as the matcher makes it; borrowed until the block is done. */
typedef struct cd_wh_event {
    i64 hook;
    cd_wh_type type;
    u8 h[32]; /* identity: two events with the same h are the same event */
    char id[CD_WH_EVENT_ID_MAX];
    u64 block;   /* 0 for pending ones */
    u64 time_ms; /* of the block, or first seen */
    cd_bytes body;
} cd_wh_event;

/* A ledger row. */
typedef struct cd_wh_delivery {
    i64 key; /* grows with time; also the id that interfaces show */
    i64 hook;
    u64 sequence; /* 1, 2, 3 … per webhook, in event order */
    /* SHA-256(chain hash of the item before, zeros for the first ‖ h ‖ SHA-256(body)): a receiver's proof of no gap */
    u8 chain_hash[32];
    cd_wh_event event; /* event.hook == hook */
    cd_wh_state state;
    u32 attempts; /* begun */
    u64 created_ms;
    u64 next_ms;      /* PENDING, RETRYING, HELD: not before */
    u64 delivered_ms; /* 0: not yet */
    bool is_test;     /* never retried, not counted; sequence 0 */
    bool is_replay;   /* sequence and chain hash are the first one's */
} cd_wh_delivery;

/* What an attempt met. Texts are borrowed. */
typedef struct cd_wh_attempt {
    u32 number; /* 1… */
    u64 at_ms;
    u32 ms, dns_ms, connect_ms, tls_ms, ttfb_ms;
    u32 status; /* 0: no answer */
    /* "", or a class: timeout, connect, tls, dns, refused, protocol, ssrf, payload_too_large */
    const char *error;
    const char *request;  /* head as it was sent */
    const char *response; /* head as it came, cut at 4 KiB */
    cd_bytes body;        /* the answer's first 4 KiB */
} cd_wh_attempt;

#endif
