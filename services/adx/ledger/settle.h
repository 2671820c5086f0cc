/* services/adx/ledger/settle.h - what is sent to the chain: batches of impressions, and what miners are owed.
 *
 *   impression ─► unsettled (campaign, publisher) ─► batch: leaves, root ─► signed ─► sent ─► confirmed: onchain/c
 *   reward ─────► miner/m ───────────────────────► payout ────────────────► signed ─► sent ─► confirmed: paid/m
 *
 * A sending is written down before it is signed, and signed bytes before they are sent, so that after a kill the very
 * same bytes are sent again; the chain takes a nonce once. A leaf is a publisher's sum of one batch:
 * keccak256(reservation || publisher || amount), the reservation being a digest of the journal's head, which is never
 * the same twice; pairs are sorted, an odd one moves up. One process at a time settles. Amounts here are nano-USD, on
 * the chain `scale` times as many of the token's smallest units. Inside the caller's transaction, as everything of the
 * ledger. Threading: confined. [spec:adx#9] */
#ifndef CD_ADX_LEDGER_SETTLE_H
#define CD_ADX_LEDGER_SETTLE_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"
#include "num/u256.h"
#include "services/adx/ledger/ledger.h"

/* Kinds of sendings. */
typedef enum cd_sending_kind { CD_SENDING_BATCH, CD_SENDING_PAYOUT } cd_sending_kind;
/* How far one is. */
typedef enum cd_sending_state { CD_SENDING_MADE, CD_SENDING_SIGNED, CD_SENDING_DONE } cd_sending_state;

/* One transaction of the chain, made or to be made. */
typedef struct cd_sending {
    i64 id;
    cd_sending_kind kind;
    cd_sending_state state;
    char ref[CD_LEDGER_ID_MAX + 1]; /* campaign, or miner */
    cd_addr20 wallet;               /* of a payout */
    cd_hash32 root;                 /* of a batch */
    i64 total;
    u64 scale, cnt; /* cnt: impressions */
    u64 nonce;      /* signed */
    cd_bytes raw;   /* signed */
    cd_hash32 tx;   /* signed */
    u64 made_ms, block, gas;
} cd_sending;

/* cd_settle_lock: *is_mine when owner is who settles until now_ms + hold_ms. */
cd_err cd_settle_lock(cd_ledger *l, bool *is_mine, const char *owner, u64 now_ms, u64 hold_ms,
                      cd_errinfo *why) CD_CHECK;

/* cd_settle_make makes sendings of what is unsettled, one a campaign, and of what miners are owed where that is at
 * least payout_min (0: none), 256 at most; *cnt says how many. */
cd_err cd_settle_make(cd_ledger *l, usize *cnt, u64 scale, i64 payout_min, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* cd_settle_next gives the oldest sending that is not done and due, its bytes in mem. CD_ENOENT: there is none. */
cd_err cd_settle_next(cd_ledger *l, cd_sending *out, cd_arena *mem, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* cd_settle_signed writes the signed bytes down. cd_settle_later has it tried again at after_ms, from the beginning
 * when is_anew: its nonce was used by something else. */
cd_err cd_settle_signed(cd_ledger *l, i64 id, u64 nonce, cd_bytes raw, const cd_hash32 *tx, cd_errinfo *why) CD_CHECK;
cd_err cd_settle_later(cd_ledger *l, i64 id, u64 after_ms, bool is_anew, const char *trouble, cd_errinfo *why) CD_CHECK;

/* cd_settle_done: the chain has it. Its money moves in the ledger, once. */
cd_err cd_settle_done(cd_ledger *l, i64 id, u64 block, u64 gas, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* How settlement stands, in nano-USD. */
typedef struct cd_settle_sums {
    i64 unsettled, waiting, settled, paid_out; /* waiting: made and not confirmed */
    u64 sendings, open;
    char trouble[160]; /* of the oldest that is open; "" */
} cd_settle_sums;
/* cd_settle_sum adds it up. */
cd_err cd_settle_sum(cd_ledger *l, cd_settle_sums *out, cd_errinfo *why) CD_CHECK;

/* cd_settle_list gives sendings, the newest first, without their bytes. */
cd_err cd_settle_list(cd_ledger *l, cd_sending *out, usize *cnt, usize max, cd_errinfo *why) CD_CHECK;

/* cd_settle_campaigns gives campaigns of which something was settled, and how much. */
typedef struct cd_settled {
    char campaign[CD_LEDGER_ID_MAX + 1];
    i64 amount;
    u64 scale;
} cd_settled;
cd_err cd_settle_campaigns(cd_ledger *l, cd_settled *out, usize *cnt, usize max, cd_errinfo *why) CD_CHECK;

/* cd_settle_claims writes, as elements of a JSON array, what a publisher may claim of the batches that the chain has:
 * root, reservation, amount in the token's units, proof. At most max, the newest first. */
cd_err cd_settle_claims(cd_ledger *l, cd_buf *json, const char *publisher, usize max, cd_errinfo *why) CD_CHECK;

/* cd_settle_units gives nano times scale as the chain's number. */
cd_u256 cd_settle_units(i64 nano, u64 scale);

/* cd_settle_campaign_id gives what a campaign is called on the chain: "0x" and 64 digits as they are, else the hash. */
void cd_settle_campaign_id(cd_hash32 *out, const char *campaign);

#endif
