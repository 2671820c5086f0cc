/* services/adx/openrtb/macros.h - ${AUCTION_…} in notices and markup.
 *
 * What is known replaces its macro, what is not is left out, a macro that nobody knows stays as it is; ":B64" behind
 * the name asks for base64. Threading: pure. [spec:adx#3.4] */
#ifndef CD_ADX_OPENRTB_MACROS_H
#define CD_ADX_OPENRTB_MACROS_H

#include "base/num_text.h"
#include "services/adx/openrtb/bids.h"

/* Empty: not known, or not for this reader. */
typedef struct cd_rtb_macros {
    cd_bytes auction_id, bid_id, imp_id, seat_id, ad_id, price, currency, loss, min_to_win, imp_ts;
} cd_rtb_macros;

/* cd_rtb_macros_put appends text with its macros replaced. */
void cd_rtb_macros_put(cd_buf *out, cd_bytes text, const cd_rtb_macros *m);

/* Room for the numbers among the values. */
typedef struct cd_rtb_macro_text {
    char price[CD_MICRO_TEXT_MAX], min_to_win[CD_MICRO_TEXT_MAX], loss[CD_U64_TEXT_MAX];
} cd_rtb_macro_text;

/* cd_rtb_macros_of gives the values for a bid whose auction is decided: a price for winners alone; borrowed from all
 * that is passed. */
cd_rtb_macros cd_rtb_macros_of(cd_rtb_macro_text *text, const cd_rtb_bid *b, cd_bytes auction_id, const cd_cur *cur);

#endif
