/* services/adx/ledger/wages.h - who the miners are, what they did, and what they are owed for it.
 *
 *   beacon (paid) ──┐                                                   end of the period
 *   report (bytes) ─┴─► delivery ─► workday: impressions, bytes, up, proofs ─► reward: fees ─► miner/m ─► paid/m
 *
 * An impression counts for a miner once both are known: it was paid, and the miner has delivered a byte of it or more.
 * Neither the order matters nor how often a report comes: it says how much was delivered in all. Bytes are paid up to a
 * tenth more than the media have. Inside the caller's transaction, as everything of the ledger. Seconds are
 * wall time since 1970; a period is a number of seconds, counted from then. Threading: confined. [spec:adx#8] */
#ifndef CD_ADX_LEDGER_WAGES_H
#define CD_ADX_LEDGER_WAGES_H

#include "services/adx/ledger/ledger.h"
#include "services/adx/miner/rewards.h"

enum { CD_MINER_ID_LEN = 16, CD_MINER_WALLET_LEN = 42, CD_WAGES_GRACE_S = 60 };

/* A miner as it has registered. */
typedef struct cd_miner_row {
    char id[CD_MINER_ID_LEN + 1];
    u8 public_key[32];
    char wallet[CD_MINER_WALLET_LEN + 1];
    u64 since_s, seen_s;
} cd_miner_row;

/* cd_wages_register writes a miner down, or its new wallet, and when it was seen; since_s is filled in. Errors:
 * CD_EFULL: there are `most` already. */
cd_err cd_wages_register(cd_ledger *l, cd_miner_row *m, u64 most, u64 now_s, cd_errinfo *why) CD_CHECK;

/* cd_wages_forget removes miners that have not been seen since before_s and never earned anything. */
cd_err cd_wages_forget(cd_ledger *l, u64 before_s, cd_errinfo *why) CD_CHECK;

/* What a miner says it has delivered of one impression. */
typedef struct cd_delivery {
    u8 token[CD_LEDGER_TOKEN_LEN];
    u64 bytes; /* in all */
    u64 size;  /* of the media */
    u64 expires_s;
} cd_delivery;

/* cd_wages_deliver notes a report. A delivery of another miner is left alone. */
cd_err cd_wages_deliver(cd_ledger *l, const char *miner, const cd_delivery *d, u64 period_s, u64 now_s,
                        cd_errinfo *why) CD_CHECK;

/* cd_wages_up notes that a miner was up from from_s to to_s; no second counts twice. since_s: of its registration. */
cd_err cd_wages_up(cd_ledger *l, const char *miner, u64 since_s, u64 from_s, u64 to_s, u64 period_s,
                   cd_errinfo *why) CD_CHECK;

/* cd_wages_proof notes a verified proof and its fee. */
cd_err cd_wages_proof(cd_ledger *l, const char *miner, u64 fee_nusd, u64 period_s, u64 now_s, cd_errinfo *why) CD_CHECK;

/* A reward that was just credited. */
typedef struct cd_wages_paid {
    char miner[CD_MINER_ID_LEN + 1];
    u64 period;
    cd_reward reward;
} cd_wages_paid;

/* cd_wages_close credits what was earned in periods that have ended more than CD_WAGES_GRACE_S (or a tenth of a period,
 * where that is less) ago, at most max of them; call again while *cnt is max. */
cd_err cd_wages_close(cd_ledger *l, cd_wages_paid *out, usize *cnt, usize max, u64 now_s, cd_errinfo *why) CD_CHECK;

/* cd_wages_pay notes that a miner was sent amount, under ref (a transaction's hash). CD_ELIMIT: it is owed less. */
cd_err cd_wages_pay(cd_ledger *l, const char *miner, i64 amount, cd_bytes ref, u64 now_ms, cd_errinfo *why) CD_CHECK;

/* What miners have done and earned: those of periods that are over, and as it stands of those that are not. */
typedef struct cd_wages_sums {
    u64 registered, active; /* active: heard of in the last seconds, by whichever process */
    u64 impressions, bytes, up_s, seconds;
    cd_reward reward; /* all of it */
    u64 pending;      /* of that, not sent yet */
    u64 paid;
} cd_wages_sums;

/* cd_wages_sum adds up all miners, or one (NULL: all). CD_ENOENT: there is no such miner. */
cd_err cd_wages_sum(cd_ledger *l, cd_wages_sums *out, const char *miner, u64 now_s, cd_errinfo *why) CD_CHECK;

/* cd_wages_list gives miners, those seen last first. */
cd_err cd_wages_list(cd_ledger *l, cd_miner_row *out, usize *cnt, usize max, cd_errinfo *why) CD_CHECK;

#endif
