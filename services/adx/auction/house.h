/* services/adx/auction/house.h - the house: sealed auctions from their opening to their outcome.
 *
 *             create                 bid deadline            reveal deadline
 *   ────────────►  open  ───────────────►  reveal  ───────────────►  settled | void   (document in the store)
 *                  bids: proof holds?      envelopes are opened       outcome, proof
 *                  log, receipt            bidders open their own
 *
 * A default auction is always open, one after the other; one that nobody bid in leaves nothing behind. The house has
 * no clock and draws no randomness by itself: both are arguments. Whatever it acknowledged is in the store before.
 * Live auctions are in memory, bounded; what is settled is in the store alone. Threading: confined. [spec:adx#5.3]
 * [spec:adx#5.4] */
#ifndef CD_ADX_AUCTION_HOUSE_H
#define CD_ADX_AUCTION_HOUSE_H

#include "services/adx/auction/outcome.h"
#include "services/adx/auction/store.h"

enum {
    CD_HOUSE_LIVE_MAX = 4096, /* auctions without an outcome */
    CD_HOUSE_KEYS = 2,        /* envelopes may be sealed to this many keys, the newest first */
    CD_HOUSE_OPEN_MS = 100,   /* of default auctions */
    CD_HOUSE_REVEAL_MS = 1000,
};

typedef struct cd_house cd_house;

/* What a house of auctions works with. */
typedef struct cd_house_cfg {
    cd_auction_store store;
    cd_rng *rng;         /* borrowed; nobody may guess it */
    u8 receipt_seed[32]; /* Ed25519 */
    cd_envelope_key keys[CD_HOUSE_KEYS];
    u32 key_cnt;
    u64 default_reserve; /* millionths of a USD CPM */
} cd_house_cfg;

/* cd_house_new takes up what the store holds: auctions go on where they were. */
cd_err cd_house_new(cd_house **out, const cd_house_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_house_free(cd_house *h); /* NULL is allowed */

/* cd_house_rotate puts a new key in front; of the others the newest is still good for what is under way. */
void cd_house_rotate(cd_house *h, const cd_envelope_key *key);

/* What becomes of a request. */
typedef enum cd_house_answer {
    CD_HOUSE_DONE,
    CD_HOUSE_REPLAYED,      /* the very same bid was accepted before: the same acknowledgement */
    CD_HOUSE_MALFORMED,     /* a bidder's name, a length */
    CD_HOUSE_UNKNOWN,       /* no such auction, or no such bid in it */
    CD_HOUSE_DUPLICATE,     /* the commitment was seen before, or the bidder has a bid here */
    CD_HOUSE_CLOSED,        /* too late */
    CD_HOUSE_EARLY,         /* bids are opened after the bid deadline */
    CD_HOUSE_INVALID_PROOF, /* the proof, or the opening, does not hold */
    CD_HOUSE_FULL,          /* too many auctions or bids */
} cd_house_answer;

/* What a bidder sends: a sealed bid. */
typedef struct cd_bid_ask {
    const cd_hash32 *auction; /* NULL: the default auction, and the proof is bound to 32 zeros */
    cd_bytes bidder;
    cd_hash32 commitment;
    cd_bytes proof;
    cd_bytes envelope; /* empty: none */
} cd_bid_ask;

/* What it gets: the receipt, and until when it may bid and open, in milliseconds since 1970. */
typedef struct cd_bid_ack {
    cd_receipt receipt; /* with auction, seq and log head */
    u64 bid_deadline_ms, reveal_deadline_ms;
} cd_bid_ack;

/* cd_house_bid takes a bid. ack is filled in for CD_HOUSE_DONE and CD_HOUSE_REPLAYED. Errors: those of the store, and
 * then nothing has happened. */
cd_err cd_house_bid(cd_house *h, cd_house_answer *answer, cd_bid_ack *ack, const cd_bid_ask *ask, u64 now_ms,
                    cd_errinfo *why) CD_CHECK;

/* cd_house_reveal takes an opening from its bidder. */
cd_err cd_house_reveal(cd_house *h, cd_house_answer *answer, const cd_hash32 *auction, cd_bytes bidder,
                       const cd_opening *o, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* cd_house_create opens an auction for a slot (at most CD_SLOT_MAX bytes). */
cd_err cd_house_create(cd_house *h, cd_house_answer *answer, cd_hash32 *id, cd_bytes slot, u64 reserve, u64 open_ms,
                       u64 reveal_ms, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* cd_house_current gives the default auction that is open. */
void cd_house_current(cd_house *h, cd_auction_row *out, u64 now_ms);

/* cd_house_tick does what is due: opens envelopes, settles. *next_ms: when something is due next, UINT64_MAX for
 * nothing. Errors of the store leave the auction as it was; call again. */
cd_err cd_house_tick(cd_house *h, u64 *next_ms, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* A live auction as anybody may see it. */
typedef struct cd_auction_view {
    cd_auction_row row;
    cd_hash32 log_head;
    u32 cnt;
    bool is_revealing;
    const bool *is_open; /* cnt of them, from the bid deadline on; borrowed until the next call */
} cd_auction_view;

/* cd_house_look: false when there is no such live auction. cd_house_outcome appends the document of a settled one:
 * CD_ENOENT, CD_EAGAIN (not settled yet). */
bool cd_house_look(const cd_house *h, cd_auction_view *out, const cd_hash32 *auction, u64 now_ms);
cd_err cd_house_outcome(cd_house *h, cd_buf *json, const cd_hash32 *auction, cd_errinfo *why) CD_CHECK;

#endif
