/* services/adx/openrtb/auction.h - who wins an imp, what he pays, and why the others did not.
 *
 *   bids ─► filters (first hit is the loss code) ─► rank: deals, price, arrival, seat ─► price ─► what it took to win
 *
 * Every imp is an auction of its own. Amounts are compared in the auction's currency, as integers.
 * Threading: pure. [spec:adx#3.4] */
#ifndef CD_ADX_OPENRTB_AUCTION_H
#define CD_ADX_OPENRTB_AUCTION_H

#include "services/adx/openrtb/bids.h"

/* What an imp's slot adds to the request. */
typedef struct cd_rtb_slot {
    cd_micro floor; /* USD */
    cd_rtb_strs bcat, badv;
} cd_rtb_slot;

/* What an auction is decided by. */
typedef struct cd_rtb_rules {
    const cd_rtb_req *req;
    const cd_rtb_slot *const *slots; /* by imp; NULL: none */
    const cd_fx *fx;
    cd_cur cur;     /* the auction's */
    cd_micro floor; /* USD, for everything */
    i32 at;         /* where the request has none */
    cd_micro step;  /* above the second price */
} cd_rtb_rules;

/* cd_rtb_cur_choose gives the auction's currency: the first that the request allows and that there is a way to from
 * USD. False: there is none. */
bool cd_rtb_cur_choose(cd_cur *out, const cd_rtb_req *req, const cd_fx *fx);

/* cd_rtb_floor gives the floor of an imp in the auction's currency; false when there is no rate for it. */
bool cd_rtb_floor(cd_micro *out, const cd_rtb_rules *rules, usize imp);

/* cd_rtb_filter gives the reason why a bid cannot win, CD_LOSS_WON when it can, and fills the auction's members of b
 * as far as it came. */
cd_rtb_loss cd_rtb_filter(cd_rtb_bid *b, const cd_rtb_rules *rules);

/* cd_rtb_decide settles all auctions: sets the loss of every bid, and winners[i] to the index of the bid that won imp
 * i, or to SIZE_MAX. An imp that asks for a pod (poddur) has more winners: all with a place, within its time, no
 * creative, advertiser or first-level category twice. Bids whose loss is set already stay lost, so that it can be
 * called again without a winner that could not deliver. */
void cd_rtb_decide(usize *winners, cd_rtb_bids *bids, const cd_rtb_rules *rules);

#endif
