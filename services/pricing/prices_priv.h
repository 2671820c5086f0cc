/* services/pricing/prices_priv.h - the parts of cd_prices: entries, requests that wait, and jobs that fetch.
 *
 *   cd_prices_ask ─ items ──► entry ◄── queue (one a currency, entries that wait for a call)
 *                  (waits)      │  ▲
 *                               ▼  │
 *                              job ┴─ calls to providers, one after the other or (median) all at once
 *
 * Threading: confined to the loop. */
#ifndef CD_SERVICES_PRICING_PRICES_PRIV_H
#define CD_SERVICES_PRICING_PRICES_PRIV_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"
#include "base/table/hmap.h"
#include "base/table/list.h"
#include "base/table/lru.h"
#include "base/table/siphash.h"
#include "services/pricing/gate.h"
#include "services/pricing/market.h"
#include "services/pricing/prices.h"

typedef struct cd__price_job cd__price_job;
typedef struct cd__price_queue cd__price_queue;

typedef enum cd__price_kind {
    CD__PRICE_EMPTY,   /* nothing known yet; lives only while somebody waits or a job has it */
    CD__PRICE_THERE,   /* has a price */
    CD__PRICE_UNKNOWN, /* the provider said that there is none */
    CD__PRICE_STATIC,
} cd__price_kind;

typedef enum cd__price_phase {
    CD__PRICE_IDLE,
    CD__PRICE_QUEUED, /* in its queue */
    CD__PRICE_TAKEN,  /* in a job */
} cd__price_phase;

/* What is known of one id in one currency. */
typedef struct cd__price_entry {
    cd_list lru;    /* in the list of its kind, used last in front */
    cd_list waits;  /* cd__price_item */
    cd_list queued; /* in its queue */
    u64 hash;
    struct cd__price_entry *same_hash;
    cd__price_job *job;
    char *text; /* id, currency, symbol, name, one behind the other */
    double price;
    double change_24h;
    double market_cap;
    double volume_24h;
    u64 last_updated_s;
    u64 stored_wall_ns;
    i64 stored_ns;  /* monotonic; may lie before the start of the machine */
    i64 checked_ns; /* when the provider last said that there is none */
    void *slot;
    cd_prices_point *history; /* ring of the prices before */
    u32 pins;                 /* items of answers that speak of it */
    u32 hit_s;                /* monotonic, of the last question */
    u16 job_idx;
    u16 name_n;
    u8 id_n;
    u8 currency_n;
    u8 symbol_n;
    u8 source;
    u8 kind;  /* cd__price_kind */
    u8 rank;  /* cd__price_rank */
    u8 phase; /* cd__price_phase */
    u8 history_at;
    u8 history_cnt;
    u8 history_cap;
    bool has_waited; /* for what another instance fetches */
    bool is_missing; /* has a price, but the provider's newest answer did not name it */
    bool is_passing; /* has a price for who waits; the cache is full of what others look at */
} cd__price_entry;

typedef struct cd__price_item {
    cd_list wait;           /* in entry->waits while it waits */
    cd__price_entry *entry; /* NULL: not a name */
    cd_prices_ask *ask;
    u32 retry_after_s;
    u8 state; /* cd_price_state; while it waits what it is if a price arrives */
    bool is_waiting;
} cd__price_item;

struct cd_prices_answer {
    cd_prices *prices;
    cd__price_item *items;
    usize cnt;
};

struct cd_prices_ask {
    cd_list link; /* in waiting (by deadline) or ready */
    cd_prices_answer answer;
    cd_prices_done *done;
    void *ctx;
    u64 deadline_ns;
    usize left; /* items that wait */
};

/* In which order entries get a call: those that are known to exist, then those of requests that ask for little, then
 * the rest. */
typedef enum cd__price_rank { CD__PRICE_KNOWN, CD__PRICE_FEW, CD__PRICE_MANY, CD__PRICE_RANKS } cd__price_rank;

/* Entries of one currency that wait for a call. */
struct cd__price_queue {
    cd_list link;
    cd_list entries[CD__PRICE_RANKS];
    usize cnt;
    u64 due_ns;
    u64 hash; /* of the currency */
};

typedef struct cd__price_provider {
    cd_prices_provider cfg; /* strings are owned */
    cd_gate gate;
    u32 calls_now;
    u64 calls;
    u64 calls_failed;
    u64 last_ok_wall_ns;
    u32 last_ms;
    cd_gauge *breaker;
} cd__price_provider;

enum { CD__PRICE_SOURCES_MAX = 32, CD__PRICE_OUTCOMES = 7 };

struct cd_prices {
    cd_prices_cfg cfg;
    const cd_clock *clock;
    cd_prices_net net;
    cd_prices_share share;
    bool has_share;
    cd_sipkey sipkey;
    cd_hmap table; /* hash of id and currency -> cd__price_entry * */
    cd_list there; /* entries by use */
    cd_list unknown;
    cd_list statics;
    usize there_cnt;
    usize unknown_cnt;
    u32 unknown_max;
    cd_hmap queues; /* hash of the currency -> cd__price_queue * */
    cd_list queue_list;
    u64 queues_due_ns; /* no queue is due before */
    cd_hmap allowed;   /* SHA-256 of ids, when there are any */
    cd_lru *clients;   /* hash of a client -> what it may still ask for the first time */
    cd_list jobs;
    cd_list waiting; /* asks by deadline */
    cd_list ready;   /* asks to call back */
    bool is_calling_back;
    usize items_waiting;
    u64 armed_ns; /* UINT64_MAX: no alarm */
    u64 sweep_ns; /* next look for what to refresh early */
    cd__price_provider providers[CD_PRICES_PROVIDERS_MAX];
    usize providers_cnt;
    char *sources[CD__PRICE_SOURCES_MAX];
    usize sources_cnt;
    cd_prices_changed *changed;
    void *changed_ctx;
    u64 started_wall_ns;
    u64 hits;
    u64 misses;
    u64 stales;
    u64 negatives;
    u64 changes; /* of what a snapshot holds */
    bool is_ready;
    cd_counter *m_hit;
    cd_counter *m_miss;
    cd_counter *m_stale;
    cd_counter *m_negative;
    cd_gauge *m_entries;
    cd_counter *m_outcomes[CD__PRICE_OUTCOMES];
    cd_hist *m_seconds;
};

CD_INLINE u64 cd__prices_now(const cd_prices *p)
{
    return cd_clock_mono_ns(p->clock);
}

/* --- entries.c --- */

cd_bytes cd__price_id(const cd__price_entry *e);
cd_bytes cd__price_currency(const cd__price_entry *e);

/* cd__price_is_name: a name in lower case. */
bool cd__price_is_name(cd_bytes text);

/* cd__price_find gives the entry or NULL; _make one that may be empty. */
cd__price_entry *cd__price_find(const cd_prices *p, cd_bytes id, cd_bytes currency);
cd__price_entry *cd__price_make(cd_prices *p, cd_bytes id, cd_bytes currency);

/* cd__price_tidy drops e when it is empty and nobody needs it. */
void cd__price_tidy(cd_prices *p, cd__price_entry *e);

/* cd__price_used moves e to the front. */
void cd__price_used(cd_prices *p, cd__price_entry *e);

/* cd__price_store keeps what was learned of e, tells whoever wants to know, and makes room. age_ns: since it was
 * true. */
void cd__price_store(cd_prices *p, cd__price_entry *e, const cd_market_row *row, u8 source, u64 stored_wall_ns,
                     u64 age_ns);

/* cd__price_store_unknown keeps that there is no such token; a price that is there stays, and is asked for anew only
 * after the negative time. */
void cd__price_store_unknown(cd_prices *p, cd__price_entry *e);

/* cd__price_view describes e as of now. */
void cd__price_view(const cd_prices *p, cd_price *out, cd__price_entry *e);

bool cd__price_is_fresh(const cd_prices *p, const cd__price_entry *e, u64 now_ns);

/* cd__price_is_settled: asked lately, and the answer was that there is nothing new. */
bool cd__price_is_settled(const cd_prices *p, const cd__price_entry *e, u64 now_ns);

/* cd__price_record_enc appends e as a record. cd__price_record_take stores a record of e; false when it is none, or not
 * newer than what is there. */
void cd__price_record_enc(const cd_prices *p, cd_buf *out, const cd__price_entry *e);
bool cd__price_record_take(cd_prices *p, cd__price_entry *e, cd_bytes bytes);

/* cd__price_point_add adds to the history. */
void cd__price_point_add(cd__price_entry *e, u32 wall_s, float price);

void cd__prices_entries_fini(cd_prices *p);

/* cd__price_source gives the number of a source's name. */
u8 cd__price_source(cd_prices *p, cd_bytes name);

/* --- fetch.c --- */

/* What stands in the way of a call, if there is none that may be made now; *wait_ns until there may. */
cd_gate_verdict cd__prices_gate(cd_prices *p, u64 *wait_ns, u64 now_ns);

/* cd__prices_queue puts an idle entry into its queue. */
void cd__prices_queue(cd_prices *p, cd__price_entry *e, u64 now_ns);
void cd__prices_unqueue(cd_prices *p, cd__price_entry *e);

/* cd__prices_fetch_run begins the jobs that are due. */
void cd__prices_fetch_run(cd_prices *p, u64 now_ns);
void cd__prices_fetch_fini(cd_prices *p);

/* cd__price_outcome_name: how calls end, below CD__PRICE_OUTCOMES. */
const char *cd__price_outcome_name(u32 o);

/* --- prices.c --- */

/* cd__prices_settle answers all items that wait for e. state CD_PRICE_FETCHED leaves what each was to become. */
void cd__prices_settle(cd_prices *p, cd__price_entry *e, cd_price_state state, u32 retry_after_s);

/* cd__prices_flush calls back who is ready, then sets the alarm. */
void cd__prices_flush(cd_prices *p);

#endif
