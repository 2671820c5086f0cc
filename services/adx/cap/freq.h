/* services/adx/cap/freq.h - frequency capping that knows no device: counters under keyed labels, and blinded tokens.
 *
 *   label = HMAC-SHA256(k_epoch, BE16 len || device || BE16 len || campaign), 16 bytes      k_epoch: random, in memory
 *
 * When an epoch ends, its key and its counters are erased, so that nobody can link labels of two epochs, and labels
 * without their key say nothing. Names of devices are looked at and forgotten; they reach neither log nor disk.
 *
 * Tokens: a device gets up to `cap` blind evaluations per campaign and epoch (cd_freq_issue), and gives one up for each
 * time an ad is shown (cd_freq_redeem), where nothing tells which device it was. A token is good once in its epoch;
 * what was spent is on the disk before it counts. Clock and randomness are arguments. Threading: confined.
 * [spec:adx#7.1] [spec:adx#7.2] */
#ifndef CD_ADX_CAP_FREQ_H
#define CD_ADX_CAP_FREQ_H

#include "base/os/rng.h"
#include "crypto/zk/voprf.h"
#include "services/adx/cap/counters.h"

enum {
    CD_FREQ_NAME_MAX = 256, /* bytes of a device's or a campaign's name */
    CD_FREQ_CAP_MAX = 10000,
    CD_FREQ_WINDOW_S = 86400,
    CD_FREQ_TOKENS_MAX = 256,        /* under one proof */
    CD_FREQ_KEYS_MAX = 1024,         /* keys of campaigns kept ready */
    CD_FREQ_COUNTERS_MAX = 50000000, /* unless told otherwise */
};

/* Where spent tokens and the server's seed are kept; CD_OK: it is on the disk. */
typedef struct cd_spent_store {
    void *ctx;
    /* *was_new is false for a nonce that was spent in this epoch before. */
    cd_err (*spend)(void *ctx, bool *was_new, u64 epoch, cd_bytes campaign, const u8 nonce[32], cd_errinfo *why);
    /* Forgets what was spent before an epoch. */
    cd_err (*purge)(void *ctx, u64 epoch, cd_errinfo *why);
    /* The seed of all keys: the one that is there, else the one in seed, which is then there for good. */
    cd_err (*seed)(void *ctx, u8 seed[32], cd_errinfo *why);
} cd_spent_store;

typedef struct cd_freq cd_freq;

/* What a frequency cap works with. */
typedef struct cd_freq_cfg {
    cd_spent_store store;
    cd_rng *rng;     /* borrowed; nobody may guess it */
    u64 window_s;    /* of an epoch; 0: CD_FREQ_WINDOW_S */
    usize count_max; /* counters; 0: CD_FREQ_COUNTERS_MAX */
} cd_freq_cfg;

/* cd_freq_new reads the seed or makes one. cd_freq_free accepts NULL. */
cd_err cd_freq_new(cd_freq **out, const cd_freq_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_freq_free(cd_freq *f);

/* cd_freq_label computes a label; what follows the two names (`kind`, usually empty) tells uses apart. */
void cd_freq_label(cd_label16 *out, const u8 epoch_key[32], cd_bytes device, cd_bytes campaign, cd_bytes kind);

/* A question: may this device be shown this campaign once more? */
typedef struct cd_freq_ask {
    cd_bytes device, campaign; /* 1 to CD_FREQ_NAME_MAX bytes */
    u64 cap;                   /* 0 to CD_FREQ_CAP_MAX; 0 is always denied */
    bool is_peek;              /* look, do not count */
} cd_freq_ask;

/* The answer to it. */
typedef struct cd_freq_decision {
    bool is_allowed;
    u64 epoch, reset_s; /* seconds since 1970 */
    u8 receipt[16];     /* a keyed digest of the decision, checkable by the exchange within the epoch */
} cd_freq_decision;

/* cd_freq_check decides and counts. Of two caps for one counter the smaller rules. Errors: CD_EINVAL (a length, a
 * cap), CD_EFULL (too many counters; show no ad). */
cd_err cd_freq_check(cd_freq *f, cd_freq_decision *out, const cd_freq_ask *ask, u64 now_s) CD_CHECK;

/* Evaluations and their proof. */
typedef struct cd_freq_issued {
    u64 epoch;
    cd_point public;
    cd_point *evaluated; /* as many as were asked for; the caller's memory */
    u8 proof[CD_VOPRF_PROOF];
} cd_freq_issued;

/* cd_freq_issue evaluates cnt blinded nonces of a device, 1 to CD_FREQ_TOKENS_MAX. Errors: CD_EINVAL; CD_ELIMIT: the
 * device has had its cap of them; CD_EFULL. */
cd_err cd_freq_issue(cd_freq *f, cd_freq_issued *out, const cd_freq_ask *ask, const cd_point *blinded, usize cnt,
                     u64 now_s) CD_CHECK;

/* What became of a token that was presented: good for one impression, used before, or none of ours. */
typedef enum cd_freq_redeemed { CD_FREQ_ALLOWED, CD_FREQ_SPENT, CD_FREQ_INVALID } cd_freq_redeemed;

/* cd_freq_redeem takes a token. Errors: those of the store, and then it is not spent. */
cd_err cd_freq_redeem(cd_freq *f, cd_freq_redeemed *out, cd_bytes campaign, u64 epoch, const u8 nonce[32],
                      const u8 token[CD_VOPRF_OUTPUT], u64 now_s, cd_errinfo *why) CD_CHECK;

/* cd_freq_key derives the key of a campaign in an epoch. */
void cd_freq_key(cd_voprf_key *out, const u8 seed[32], cd_bytes campaign, u64 epoch);

/* cd_freq_secret derives a secret for another purpose from the seed, the same wherever the store is the same. */
void cd_freq_secret(u8 out[32], const cd_freq *f, const char *purpose);

/* cd_freq_counters: how many there are. */
usize cd_freq_counters(const cd_freq *f);

typedef struct cd_sql cd_sql;
typedef struct cd_spent_sql cd_spent_sql;

/* cd_spent_sql_open makes the tables where they are missing; q is borrowed. cd_spent_sql_close accepts NULL. */
cd_err cd_spent_sql_open(cd_spent_sql **out, cd_sql *q, cd_errinfo *why) CD_CHECK;
cd_spent_store cd_spent_sql_store(cd_spent_sql *s);
void cd_spent_sql_close(cd_spent_sql *s);

#endif
