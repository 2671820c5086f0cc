/* services/adx/exchange/exchange_priv.h - how the parts of the exchange fit together.
 *
 *   exchange  life, configuration       run     one request from its parse to its answer
 *   front     routes                    notice  what others are told: wins, losses, bills
 *   beacon    /t/…                      show    what a winner shows
 *   front_auction, front_freq           notary  what waits for the disk, or computes for long
 *   front_miner                         gate    miners
 *
 * Threading: confined to the loop. */
#ifndef CD_ADX_EXCHANGE_EXCHANGE_PRIV_H
#define CD_ADX_EXCHANGE_EXCHANGE_PRIV_H

#include "base/os/rng.h"
#include "base/table/hmap.h"
#include "base/table/list.h"
#include "net/http/server.h"
#include "net/http/sse.h"
#include "services/adx/cap/shared.h"
#include "services/adx/exchange/bidders.h"
#include "services/adx/exchange/exchange.h"
#include "services/adx/exchange/explain.h"
#include "services/adx/exchange/gate.h"
#include "services/adx/exchange/notary.h"
#include "services/adx/exchange/settler.h"
#include "services/adx/exchange/token.h"
#include "services/adx/ledger/budget.h"
#include "services/adx/openrtb/macros.h"
#include "services/adx/vast/tree.h"
#include "services/common/rate.h"

enum {
    CD__RUNS_MAX = 4096,
    CD__RUNS_KEPT = 64,
    CD__WINS_MAX = 256,   /* a token numbers them in a byte */
    CD__BAD_DOCS_MAX = 4, /* of a bidder in one auction; then none of its bids counts */
    CD__NANO_PER_USD_MICRO = 1000,
    CD__LOCALS_MAX = 128, /* bids of campaigns in one request */
};

/* Why there is no bid. */
enum {
    CD__NBR_UNKNOWN = 0,
    CD__NBR_CAPPED = 9,
    CD__NBR_NO_TIME = 15,
    CD__NBR_NO_DEMAND = 500,
    CD__NBR_FLOOR = 501,
    CD__NBR_FILTERED = 502,
    CD__NBR_LATE = 503,
    CD__NBR_BUDGET = 504,
    CD__NBR_BUSY = 505,
};

/* The configuration that is in use, with the numbers that others know its parts by. */
typedef struct cd__setup {
    u32 refs;
    cd_adx_config *config;
    u32 dsp_no[CD_ADX_DSPS_MAX];
} cd__setup;

enum { CD__PULSE_MINUTES = 60 };

/* What became of requests, by the minute. */
typedef struct cd__pulse {
    u64 minute; /* of the last element that was begun */
    struct {
        u32 filled, floor, none;
    } at[CD__PULSE_MINUTES]; /* minute modulo their number */
} cd__pulse;

typedef struct cd__notices cd__notices;

struct cd_exchange {
    cd_exchange_cfg cfg;
    char *beacons; /* "http://…/t/" */
    cd_hmac_sha256_key key;
    cd_rng rng;
    cd_rng secret_rng; /* nobody may guess it */
    cd_notary *notary;
    cd_gate *gate; /* miners */
    struct cd__stats *stats;
    cd__pulse pulse;
    cd_sse *live; /* of pages */
    cd_timer *live_timer;
    bool is_telling;
    u32 filming;         /* pieces of films that are under way */
    cd_settler *settler; /* NULL: nothing is settled on a chain */
    cd_freq *freq;       /* counters of devices; tokens are the notary's */
    cd_caps *caps;       /* the same, shared with other exchanges; NULL: they are not */
    cd_rate *rates;      /* of requests to the notary, by address */
    cd_http_client *dsp_http, *notice_http;
    cd_bidders *bidders;
    cd_clerk *clerk;
    cd_budget *budget;
    cd_explain *explain;
    cd__notices *notices;
    cd__setup *setup;
    cd_http_server *server;
    cd_list idle; /* runs that are kept for the next */
    usize idle_cnt, runs_cnt;
    struct {
        cd_counter *requests, *invalid, *shed, *sold, *unsold, *wins_local, *wins_dsp, *impressions, *replays, *refused;
        cd_counter *events, *freq_allowed, *freq_denied;
        cd_hist *seconds;
    } m;
    void (*done)(void *ctx);
    void *done_ctx;
};

/* --- run --- */

/* What a campaign bids with. */
typedef struct cd__local {
    const cd_adx_campaign *campaign;
    const cd_adx_creative *creative;
} cd__local;

/* A winner on its way to the answer. */
typedef struct cd__win {
    cd_rtb_won won;
    cd_token token;
    cd_bytes token_text;
    cd_media_token media;  /* of the miner that serves it, where token names one */
    const char *miner_url; /* ends with the object's digest */
    usize miner_file;      /* which of the creative's files it has */
    bool is_unwrapped;     /* tree is what its wrappers led to */
    bool is_lost;          /* they led nowhere */
    bool is_wrapped;       /* its markup is an address: a document of ours leads there */
    cd_vast_tree *tree;    /* its markup is a document with ads; NULL: it is not */
} cd__win;

typedef struct cd__asked {
    cd_bidder_end end;
    u32 ms;
    i32 nbr; /* -1: none said */
    u32 bad; /* documents that nobody could play */
} cd__asked;

typedef struct cd__run cd__run;
typedef void cd__run_done(cd__run *run);

struct cd__run {
    cd_list link;
    cd_exchange *x;
    cd__setup *setup;
    cd_arena mem;
    cd_buf text; /* scratch: what bidders are sent */
    cd_rtb_req req;
    cd_rtb_rules rules;
    const cd_rtb_slot **slot_rules;
    const cd_adx_slot **slots;
    cd_rtb_bids bids;
    usize winners[CD_RTB_IMPS_MAX];
    cd__win *wins;
    usize wins_cnt;
    cd__asked asked[CD_ADX_DSPS_MAX];
    u8 id[16];
    char hex[33];
    u64 began_ns;
    u32 budget_ms;
    usize pending;  /* bidders that have not answered */
    bool is_broke;  /* a campaign would have bid, but for its money */
    u32 *left;      /* by campaign: how often other exchanges leave it for this device; NULL: not known */
    bool is_capped; /* a campaign would have bid, but for its frequency cap */
    bool is_asking;
    u32 nbr;
    cd_rtb_version version; /* of the answer */
    cd_vast_version vast;   /* of documents; what the imp takes where is_vast is false */
    bool is_vast;
    bool unwraps;          /* wrappers are followed before it answers */
    cd_bytes prefer_miner; /* who asks for itself; empty: nobody */
    cd_http_req *r;
    cd__run_done *done;
};

/* cd__run_new gives a run, NULL when there are too many. Its request is read into its arena, then cd__run_begin goes
 * on until done, which may be called before it returns, and which calls cd__run_free. */
cd__run *cd__run_new(cd_exchange *x);
void cd__run_begin(cd__run *run, cd__run_done *done);
void cd__run_free(cd__run *run);

/* --- show: markup --- */

/* cd__show_read looks at a winner's markup; false when it is one that no player could play. */
bool cd__show_read(cd__run *run, cd__win *w);
/* cd__show_uri gives the address that a winner wraps, if it does. */
bool cd__show_uri(cd__run *run, const cd__win *w, cd_bytes *uri);
/* cd__unwrap follows the wrappers of winners where that is wanted, within what is left of the run's time, and calls
 * done once, which may be before it returns. A winner whose wrappers lead nowhere is lost, and their error addresses
 * hear of it. */
void cd__unwrap(cd__run *run, void (*done)(cd__run *run));
/* cd__show_miner chooses a miner to serve a campaign's file, before the token is written. */
void cd__show_miner(cd__run *run, cd__win *w);
/* cd__show writes what a winner shows into the run's arena. */
void cd__show(cd__run *run, cd__win *w);
/* cd__show_vast_version gives the newest version that an imp plays. */
cd_vast_version cd__show_vast_version(const cd_rtb_imp *imp);
/* cd__show_ad fills an ad for a document: a campaign's, or one that wraps another document. */
void cd__show_ad(cd_vast_ad *out, cd__run *run, const cd__win *w);

/* --- notices --- */

cd__notices *cd__notices_new(cd_exchange *x);
void cd__notices_free(cd__notices *n);
/* cd__notices_send fetches a URL, and forgets about it. */
void cd__notices_send(cd__notices *n, cd_bytes url);
/* cd__notices_bill keeps what is to be fetched when the token is paid, and cd__notices_paid fetches what was kept. */
void cd__notices_bill(cd__notices *n, const u8 token[CD_LEDGER_TOKEN_LEN], cd_bytes url, u64 until_s);
void cd__notices_paid(cd__notices *n, cd_bytes url);

/* --- explain --- */

void cd__run_explain(cd__run *run);

/* --- beacon, front --- */

void cd__beacon(cd_exchange *x, cd_http_req *r, cd_bytes event);
/* cd__front_new makes the server with its routes. */
void cd__front_new(cd_exchange *x);
/* cd__front_error answers with a JSON error, cd__front_not_allowed with 405; any thread. */
void cd__front_error(cd_http_req *r, u32 status, const char *code, const char *message);
void cd__front_not_allowed(cd_http_req *r, const char *methods);
/* cd__front_is_admin: the request has the admin token, or comes from this machine where there is none. */
bool cd__front_is_admin(const cd_exchange *x, cd_http_req *r);
/* cd__front_post hands a request to the notary, or answers 429 (the address asks too often) or 503. */
void cd__front_post(cd_exchange *x, cd_http_req *r, cd_notary_desk desk, cd_notary_fn *fn);

/* cd__front_auction and cd__front_freq answer below /auction/ and /frequency/; false: the path is not theirs. */
bool cd__front_auction(cd_exchange *x, cd_http_req *r, cd_bytes path);
bool cd__front_freq(cd_exchange *x, cd_http_req *r, cd_bytes path);

/* --- miners --- */

/* cd__front_miner answers below /miner/; false: the path is not its. */
bool cd__front_miner(cd_exchange *x, cd_http_req *r, cd_bytes path);
/* cd__stats_new makes what /miner/stats is answered from. cd__stats_free: nothing is out; NULL is allowed. */
struct cd__stats *cd__stats_new(cd_exchange *x);
void cd__stats_free(struct cd__stats *s);

/* --- pages --- */

/* cd__pulse_note counts a request that is over. */
void cd__pulse_note(cd__pulse *p, u64 now_s, bool is_filled, bool is_floor);
/* cd__pages_open makes what pages listen to. cd__pages answers what people look at; false: the path is not theirs. */
void cd__pages_open(cd_exchange *x);
bool cd__pages(cd_exchange *x, cd_http_req *r, cd_bytes path);
/* cd__page_auctions and cd__page_auction are the notary's: the list, and one auction. */
void cd__page_auctions(const cd_notary_room *room, cd_http_req *r);
void cd__page_auction(const cd_notary_room *room, cd_http_req *r);

/* --- money --- */

/* cd__front_money answers /settlement and below; false: the path is not its. */
bool cd__front_money(cd_exchange *x, cd_http_req *r, cd_bytes path);

/* --- frequency caps of campaigns --- */

/* cd__freq_open makes the counters. */
cd_err cd__freq_open(cd_exchange *x, cd_errinfo *why) CD_CHECK;
/* cd__freq_allows: the device of a request may be shown the campaign once more, beside `promised` times that this very
 * request has won and not counted. A campaign with a cap is for requests that name a device. */
bool cd__freq_allows(cd__run *run, const cd_adx_campaign *c, u32 promised);
/* cd__freq_ask has the shared counters looked at and calls then; false: there is nothing to wait for. */
bool cd__freq_ask(cd__run *run, void (*then)(cd__run *run));
/* cd__freq_count counts one that was given out. */
void cd__freq_count(cd__run *run, const cd_adx_campaign *c);

#endif
