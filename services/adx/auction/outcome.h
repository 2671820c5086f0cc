/* services/adx/auction/outcome.h - what came of a sealed auction, with the proof that nothing else could have.
 *
 * Everybody can check a document alone: that the bids are those of the log, that the winner's bid is at least the
 * price, that the price is the reserve or what the second bidder's commitment opens to, and that no other bid that was
 * opened is above it; the bids themselves stay hidden. Whether a bid was left out is for its receipt to say.
 *
 *   settled   C_w - P and P - C_i (i in order, neither winner nor second) commit to numbers in [0, 2^64); P = price * B
 *   void      (reserve - 1) * B - C_i do, for every opened bid
 *
 * A document without any such statement proves the number 0, so that its reserve is bound as well. Deterministic but
 * for the masks of proofs. Threading: pure. [spec:adx#5.5] */
#ifndef CD_ADX_AUCTION_OUTCOME_H
#define CD_ADX_AUCTION_OUTCOME_H

#include "base/mem/arena.h"
#include "services/adx/auction/sealed.h"

enum { CD_AUCTION_BIDS_MAX = 4096 };
/* In place of a bid's index: nobody has won. */
#define CD_OUTCOME_NOBODY UINT32_MAX

/* All pointers belong to the arena, or to whoever made it. */
typedef struct cd_outcome {
    cd_hash32 auction;
    bool is_void;
    u32 winner;         /* CD_OUTCOME_NOBODY when void */
    u32 second;         /* who set the price; CD_OUTCOME_NOBODY: the reserve did */
    u64 reserve, price; /* millionths of a USD CPM */
    cd_scalar second_blinding;
    cd_hash32 log_head;
    u32 cnt;
    const cd_sealed *bids;
    const bool *is_forfeited; /* cnt: was not opened in time */
    cd_bytes proof;
} cd_outcome;

/* cd_outcome_settle decides an auction and proves it. openings[i] is looked at where is_forfeited[i] is false. The
 * arrays are borrowed for as long as the outcome lives; the proof lies in the arena. */
void cd_outcome_settle(cd_outcome *out, cd_arena *a, const cd_hash32 *auction, u64 reserve, const cd_sealed *bids,
                       const bool *is_forfeited, const cd_opening *openings, u32 cnt, cd_rng *rng);

/* cd_outcome_verify checks an outcome alone: CD_OK; CD_EFORMAT (numbers that contradict each other), CD_EPROOF and
 * what cd_rangeproof_verify says, with the reason in why. */
cd_err cd_outcome_verify(const cd_outcome *o, cd_errinfo *why) CD_CHECK;

/* cd_outcome_put writes the JSON document. cd_outcome_parse reads one strictly, every number that follows from others
 * included: CD_EFORMAT and the like with the place. */
void cd_outcome_put(cd_buf *out, const cd_outcome *o);
cd_err cd_outcome_parse(cd_outcome *out, cd_arena *a, cd_bytes json, cd_errinfo *why) CD_CHECK;

/* cd_outcome_holds compares a receipt, whose signature is checked, with an outcome of the same auction: CD_OK when the
 * bid stands where it was promised; CD_EPROOF when it was left out, moved or changed: receipt and document together
 * convict the exchange. CD_ESIG: no receipt of this exchange; CD_EINVAL: of another auction. */
cd_err cd_outcome_holds(const cd_outcome *o, const cd_receipt *r, const u8 public[32], cd_errinfo *why) CD_CHECK;

/* cd_outcome_min_to_win gives what a bid had to reach, in millionths of a USD CPM: the clearing price, which is public,
 * for winner and losers alike. CD_ENOENT: no such bid, or a void auction, where it is the reserve (in *out). */
cd_err cd_outcome_min_to_win(u64 *out, const cd_outcome *o, u32 seq) CD_CHECK;

/* cd_outcome_fee: a thousandth of the price, in nano-USD for one impression; 0 when void. */
u64 cd_outcome_fee(const cd_outcome *o);

#endif
