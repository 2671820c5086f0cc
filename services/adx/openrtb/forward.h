/* services/adx/openrtb/forward.h - the request as a bidder is sent it: its version, our time, our link of the chain.
 *
 *   2.5 place (source.ext.schain) ─┐                     ┌─► 2.6 place (source.schain)
 *                                  ├─► value, 2.6 first ─┤
 *   2.6 place (source.schain) ─────┘                     └─► 2.5 place
 *
 * Everything else passes as it came. 2.5 knows no pods, no ssai, no dooh and no wlangb: those are left out for it.
 * Threading: pure. [spec:adx#3.2] */
#ifndef CD_ADX_OPENRTB_FORWARD_H
#define CD_ADX_OPENRTB_FORWARD_H

#include "services/adx/openrtb/reply.h"

/* How a request is changed on its way to a bidder. */
typedef struct cd_rtb_forward {
    cd_rtb_version version; /* CD_RTB_25 or CD_RTB_26 */
    i32 at;
    const char *asi; /* our name in the supply chain; NULL: no node is added */
    cd_bytes sid;    /* the seller's name at ours */
} cd_rtb_forward;

/* cd_rtb_forward_put appends the request, all but its tmax and the brace at its end: cd_rtb_forward_end adds those, so
 * that one text serves bidders with different times. */
void cd_rtb_forward_put(cd_buf *out, const cd_rtb_req *req, const cd_rtb_forward *f);
void cd_rtb_forward_end(cd_buf *out, i32 tmax);

#endif
