/* services/adx/exchange/config.h - the configuration file: bidders, campaigns, slots, rates.
 *
 * A configuration is read as a whole, checked as a whole, and replaced as a whole: auctions that run keep theirs.
 * Threading: frozen; references are counted by the loop alone. [spec:adx#10] */
#ifndef CD_ADX_EXCHANGE_CONFIG_H
#define CD_ADX_EXCHANGE_CONFIG_H

#include "services/adx/openrtb/auction.h"
#include "services/adx/openrtb/reply.h"
#include "services/adx/vast/doc.h"

enum { CD_ADX_DSPS_MAX = 64, CD_ADX_CAMPAIGNS_MAX = 1024, CD_ADX_SLOTS_MAX = 10000, CD_ADX_CONFIG_MAX = 16 << 20 };

/* A bidder who is asked over HTTP. */
typedef struct cd_adx_dsp {
    const char *id, *name, *url;
    cd_bytes seat;
    cd_rtb_version version;
    u32 timeout_ms;
    u32 qps; /* 0: no limit */
    bool gzip;
    const char *const *headers; /* "Name: value" */
    usize headers_cnt;
} cd_adx_dsp;

/* A file that miners may keep: what it is known by. size 0: it is the advertiser's alone to serve. */
typedef struct cd_adx_object {
    cd_hash32 digest;
    u64 size;
} cd_adx_object;

/* An advertisement of a campaign of our own: ids, what is played, seconds. */
typedef struct cd_adx_creative {
    cd_bytes id, registry, universal_id, click, title;
    i32 duration, skip_after;
    cd_rtb_ints attr;
    const cd_vast_media *media;
    const cd_adx_object *objects; /* beside media */
    usize media_cnt;
} cd_adx_creative;

/* A campaign that the exchange itself bids for. */
typedef struct cd_adx_campaign {
    const char *id, *advertiser;
    cd_bytes seat;
    cd_rtb_strs adomain, cat, countries;
    cd_rtb_ints devices; /* OpenRTB's device types; empty: all */
    cd_micro cpm;
    cd_cur cur;
    i64 budget, daily; /* nano-USD; daily 0: no limit */
    i64 usual;         /* what an impression costs at most, nano-USD */
    i32 freq_cap;      /* 0: none */
    u64 start_s, end_s;
    const cd_adx_creative *creatives;
    usize creatives_cnt;
    u32 budget_no; /* the caller's: its number in the budget */
} cd_adx_campaign;

/* A place of a publisher's; w and h in pixels, poddur in seconds. */
typedef struct cd_adx_slot {
    cd_bytes id;
    const char *publisher;
    i32 w, h, poddur;
    cd_bytes error_url;
    bool unwraps; /* wrappers are followed for its players */
    cd_rtb_slot rules;
} cd_adx_slot;

/* Where money is settled; rpc NULL: nowhere. */
typedef struct cd_adx_escrow {
    const char *rpc, *key_file;
    cd_addr20 contract, token; /* token: what miners are paid in */
    u64 scale;       /* the token's smallest units of a nano-USD: ten to the power of its decimals less nine */
    u64 interval_ms; /* between batches */
    i64 payout_min;  /* nano-USD; 0: miners are not paid on the chain */
} cd_adx_escrow;

/* One reading of the configuration, frozen and counted. */
typedef struct cd_adx_config {
    cd_arena mem;
    u32 refs;
    const cd_adx_dsp *dsps;
    usize dsps_cnt;
    cd_adx_campaign *campaigns;
    usize campaigns_cnt;
    const cd_adx_slot *slots; /* sorted by id */
    usize slots_cnt;
    cd_fx fx;
    cd_adx_escrow escrow;
    const char *asi; /* our name in supply chains, NULL: we add no node */
} cd_adx_config;

/* cd_adx_config_parse reads a configuration; one reference is the caller's. An empty text is one without anything.
 * Errors: CD_EFORMAT and the like, why names the member. */
cd_err cd_adx_config_parse(cd_adx_config **out, cd_bytes text, cd_errinfo *why) CD_CHECK;
cd_adx_config *cd_adx_config_ref(cd_adx_config *c);
void cd_adx_config_unref(cd_adx_config *c); /* NULL is allowed */

/* cd_adx_config_slot finds a slot, NULL when there is none. */
const cd_adx_slot *cd_adx_config_slot(const cd_adx_config *c, cd_bytes id);

#endif
