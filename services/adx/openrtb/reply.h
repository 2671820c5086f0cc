/* services/adx/openrtb/reply.h - the bid response, in the version in which it was asked for.
 *
 * Threading: pure. [spec:adx#3.4] [spec:adx#3.5] */
#ifndef CD_ADX_OPENRTB_REPLY_H
#define CD_ADX_OPENRTB_REPLY_H

#include "services/adx/openrtb/bids.h"

/* Versions of OpenRTB that are spoken. */
typedef enum cd_rtb_version { CD_RTB_25, CD_RTB_26, CD_RTB_30 } cd_rtb_version;

/* cd_rtb_version_text gives "2.5", "2.6" or "3.0". */
const char *cd_rtb_version_text(cd_rtb_version v);

/* One winner and what it shows. */
typedef struct cd_rtb_won {
    const cd_rtb_bid *bid;
    cd_bytes adm;
    cd_bytes burl; /* to be fetched when it is shown; empty: its markup does so itself */
    i32 exp;       /* seconds */
} cd_rtb_won;

/* cd_rtb_reply_put appends the response to request `id`; wins are grouped by seat, in the order of the imps. */
void cd_rtb_reply_put(cd_buf *out, cd_rtb_version version, cd_bytes id, cd_bytes auction_id, cd_cur cur,
                      const cd_rtb_won *wins, usize cnt);

/* cd_rtb_reply_nbr appends a response without bids and why. */
void cd_rtb_reply_nbr(cd_buf *out, cd_rtb_version version, cd_bytes id, u32 nbr);

#endif
