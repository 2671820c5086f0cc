/* services/adx/openrtb/req.h - a bid request of OpenRTB 2.5 or 2.6, validated while it is read.
 *
 *   text ─► JSON in an arena ─► rules in order ─► cd_rtb_req (borrows the arena)
 *
 * What this exchange needs to decide is read into fields; the rest stays in the JSON tree, for bidders that are sent
 * the request. Unknown members and unknown values of lists are nobody's fault. The conditions are those of
 * prebid-server, but for a request that names neither site, app nor dooh: such a one must say how large each of its
 * videos is. Threading: pure; a request is frozen. [spec:adx#3.2] [spec:adx#3.3] */
#ifndef CD_ADX_OPENRTB_REQ_H
#define CD_ADX_OPENRTB_REQ_H

#include "codec/json.h"
#include "services/adx/openrtb/money.h"

enum {
    CD_RTB_BODY_MAX = 1 << 20,
    CD_RTB_IMPS_MAX = 64,
    CD_RTB_DEPTH_MAX = 64,
    CD_RTB_LIST_MAX = 10000, /* elements of a list that bids are compared with */
};

/* A list of texts. */
typedef struct cd_rtb_strs {
    const cd_bytes *v;
    usize cnt;
} cd_rtb_strs;

/* A list of numbers. */
typedef struct cd_rtb_ints {
    const i32 *v;
    usize cnt;
} cd_rtb_ints;

/* A private deal on offer for an impression. */
typedef struct cd_rtb_deal {
    cd_bytes id;
    cd_micro floor;
    cd_cur floor_cur;
    i32 at; /* 0: the request's; 3: the floor is the price that was agreed */
    cd_rtb_strs wseat, wadomain;
} cd_rtb_deal;

/* A size in pixels. */
typedef struct cd_rtb_size {
    i32 w, h;
} cd_rtb_size;

/* 0 and empty: not said. */
typedef struct cd_rtb_video {
    cd_rtb_strs mimes;
    i32 w, h, minduration, maxduration, minbitrate, maxbitrate, linearity, maxseq, poddur;
    cd_rtb_ints rqddurs, protocols, battr;
    cd_micro mincpmpersec;
} cd_rtb_video;

/* Kinds of media; a bit each. */
typedef enum cd_rtb_media {
    CD_RTB_BANNER = 1,
    CD_RTB_VIDEO = 2,
    CD_RTB_AUDIO = 4,
    CD_RTB_NATIVE = 8,
} cd_rtb_media;

/* An impression on offer. */
typedef struct cd_rtb_imp {
    cd_json json;
    cd_bytes id, tagid;
    cd_micro floor;
    cd_cur floor_cur;
    u32 media; /* of cd_rtb_media */
    cd_rtb_video video;
    const cd_rtb_size *sizes; /* of the banner */
    usize sizes_cnt;
    cd_rtb_ints banner_battr;
    cd_rtb_strs banner_mimes;
    bool is_secure, is_private, is_rewarded;
    i32 exp; /* seconds, 0: not said */
    const cd_rtb_deal *deals;
    usize deals_cnt;
} cd_rtb_imp;

/* A bid request, as far as the exchange looks into it; json is the whole. */
typedef struct cd_rtb_req {
    cd_json json;
    cd_bytes id;
    const cd_rtb_imp *imps;
    usize imps_cnt;
    bool is_test, wants_nbr; /* ext.adx.nbr */
    i32 at;                  /* 0: not said */
    i32 tmax;                /* ms, 0: not said */
    cd_rtb_strs cur, wseat, bseat, bcat, badv, bapp, wlang;
    cd_bytes ifa, country, bundle;
    i32 devicetype;
    bool no_tracking; /* device.lmt or device.dnt */
} cd_rtb_req;

/* cd_rtb_req_parse reads and validates a request. Errors: any but CD_OK means 400, and why says "where: what". */
cd_err cd_rtb_req_parse(cd_rtb_req *out, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_rtb_strs_has: one of them is s. */
bool cd_rtb_strs_has(const cd_rtb_strs *list, cd_bytes s);
bool cd_rtb_ints_has(const cd_rtb_ints *list, i32 v);

#endif
