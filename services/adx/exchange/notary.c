#include "services/adx/exchange/notary.h"

#include "base/mem/mem.h"
#include "base/thread/mbox.h"
#include "base/thread/thread.h"
#include "services/common/sql.h"

#include <stdio.h>

enum { PATH_LEN = 4096, TICK_MAX_MS = 1000 };

typedef struct errand {
    cd_notary_fn *fn;
    cd_http_req *r;
} errand;

typedef struct desk {
    cd_notary *notary;
    cd_mbox *box;
    cd_thread thread;
    bool is_running;
} desk;

struct cd_notary {
    cd_notary_cfg cfg;
    desk desks[CD_NOTARY_DESKS];
    cd_notary_counters counters;
    /* the books thread's */
    cd_rng rng;
    char keys_path[PATH_LEN];
    cd_keyring keys;
    cd_sql *auctions, *spent; /* spent: the shared database, or another connection to the file */
    cd_auction_sql *auction_store;
    cd_spent_sql *spent_store;
    cd_house *house;
    cd_freq *freq;
    bool is_failing; /* the last tick has: said once */
};

static u64 now_ms(const cd_notary *n)
{
    return cd_clock_wall_ns(n->cfg.clock) / CD_NS_PER_MS;
}

/* Does what is due and gives the milliseconds until something is again. */
static i64 tick(cd_notary *n)
{
    cd_errinfo why = {0};
    u64 next_ms = UINT64_MAX;
    u64 now = now_ms(n);
    bool is_new = false;
    cd_err err = cd_keyring_rotate(&n->keys, &is_new, n->keys_path, &n->rng, now / 1000, &why);
    if (is_new) {
        cd_house_rotate(n->house, &n->keys.keys[0]);
    }
    cd_err house = cd_house_tick(n->house, &next_ms, now, &why);
    err = err == CD_OK ? house : err;
    if (err != CD_OK && !n->is_failing) {
        cd_log_error(n->cfg.log, "auctions cannot be settled, tried again", CD_F("why", (const char *)why.msg));
    }
    n->is_failing = err != CD_OK;
    u64 wait = next_ms <= now ? 0 : next_ms - now;
    return (i64)(wait > TICK_MAX_MS || err != CD_OK ? TICK_MAX_MS : wait);
}

static void work(void *arg)
{
    desk *d = arg;
    cd_notary *n = d->notary;
    bool is_books = d == &n->desks[CD_NOTARY_BOOKS];
    cd_notary_room room = {.counters = &n->counters};
    if (is_books) {
        room = (cd_notary_room){.auctions = n->auction_store,
                                .house = n->house,
                                .freq = n->freq,
                                .keys = &n->keys,
                                .counters = &n->counters};
    }
    for (;;) {
        errand e;
        cd_err err = cd_mbox_recv(d->box, &e, is_books ? tick(n) : -1);
        if (err == CD_ECLOSED) {
            return;
        }
        if (err == CD_OK) {
            room.now_ms = now_ms(n);
            e.fn(&room, e.r);
        }
    }
}

static void make_counters(cd_notary *n)
{
    const struct {
        cd_counter **out;
        const char *name, *help, *outcome;
    } table[] = {
        {&n->counters.bids_accepted, "sealed_bids_total", "Sealed bids by outcome.", "accepted"},
        {&n->counters.bids_refused, "sealed_bids_total", "Sealed bids by outcome.", "refused"},
        {&n->counters.verified, "verifications_total", "Outcomes that somebody had checked.", "valid"},
        {&n->counters.not_verified, "verifications_total", "Outcomes that somebody had checked.", "not_valid"},
        {&n->counters.tokens_made, "freq_tokens_total", "Blinded tokens by what became of them.", "made"},
        {&n->counters.tokens_taken, "freq_tokens_total", "Blinded tokens by what became of them.", "taken"},
        {&n->counters.tokens_refused, "freq_tokens_total", "Blinded tokens by what became of them.", "refused"},
    };
    for (usize i = 0; i < CD_COUNT(table); i++) {
        const cd_label label = {"outcome", table[i].outcome};
        *table[i].out = cd_metrics_counter(n->cfg.metrics, table[i].name, table[i].help, &label, 1);
    }
}

static cd_err open_books(cd_notary *n, cd_errinfo *why)
{
    char url[PATH_LEN + 16];
    (void)snprintf(n->keys_path, sizeof n->keys_path, "%.4000s/auction.keys", n->cfg.data_dir);
    (void)snprintf(url, sizeof url, "sqlite:%.4000s/auctions.db", n->cfg.data_dir);
    const char *shared = n->cfg.db != NULL && cd_sql_is_shared_url(n->cfg.db) ? n->cfg.db : url;
    n->rng = cd_rng_os();
    CD_TRY(cd_keyring_open(&n->keys, n->keys_path, &n->rng, now_ms(n) / 1000, why));
    CD_TRY(cd_sql_open(&n->auctions, &(cd_sql_cfg){.url = url, .may_write = true}, why));
    CD_TRY(cd_sql_open(&n->spent, &(cd_sql_cfg){.url = shared, .may_write = true}, why));
    CD_TRY(cd_auction_sql_open(&n->auction_store, n->auctions, why));
    cd_auction_sql_watch(n->auction_store, n->cfg.settled, n->cfg.settled_ctx);
    CD_TRY(cd_spent_sql_open(&n->spent_store, n->spent, why));
    cd_house_cfg house = {
        .store = cd_auction_sql_store(n->auction_store),
        .rng = &n->rng,
        .key_cnt = n->keys.cnt,
        .default_reserve = n->cfg.default_reserve,
    };
    memcpy(house.receipt_seed, n->keys.receipt_seed, sizeof house.receipt_seed);
    memcpy(house.keys, n->keys.keys, sizeof house.keys);
    CD_TRY(cd_house_new(&n->house, &house, why));
    const cd_freq_cfg freq = {.store = cd_spent_sql_store(n->spent_store), .rng = &n->rng, .window_s = n->cfg.window_s};
    return cd_freq_new(&n->freq, &freq, why);
}

static cd_err start(cd_notary *n, cd_notary_desk which, const char *name, cd_errinfo *why)
{
    desk *d = &n->desks[which];
    d->notary = n;
    d->box = cd_mbox_new(CD_NOTARY_WAITING_MAX, sizeof(errand));
    cd_err err = cd_thread_start(&d->thread, name, work, d, why);
    d->is_running = err == CD_OK;
    return err;
}

cd_err cd_notary_open(cd_notary **out, const cd_notary_cfg *cfg, cd_errinfo *why)
{
    cd_notary *n = cd_new(cd_notary);
    n->cfg = *cfg;
    make_counters(n);
    cd_err err = open_books(n, why);
    if (err == CD_OK) {
        err = start(n, CD_NOTARY_BOOKS, "books", why);
    }
    if (err == CD_OK) {
        err = start(n, CD_NOTARY_CHECKS, "checks", why);
    }
    if (err != CD_OK) {
        cd_notary_close(n);
        return err;
    }
    *out = n;
    return CD_OK;
}

void cd_notary_secret(u8 out[32], const cd_notary *n)
{
    cd_freq_secret(out, n->freq, "adx/caps/v1"); // the seed does not change once it is there
}

void cd_notary_close(cd_notary *n)
{
    if (n == NULL) {
        return;
    }
    for (usize i = 0; i < CD_NOTARY_DESKS; i++) {
        desk *d = &n->desks[i];
        if (d->is_running) {
            cd_mbox_close(d->box);
            cd_thread_join(&d->thread);
        }
        cd_mbox_free(d->box);
    }
    cd_freq_free(n->freq);
    cd_house_free(n->house);
    cd_spent_sql_close(n->spent_store);
    cd_auction_sql_close(n->auction_store);
    cd_sql_close(n->spent);
    cd_sql_close(n->auctions);
    cd_keyring_wipe(&n->keys);
    cd_free(n);
}

cd_err cd_notary_post(cd_notary *n, cd_notary_desk which, cd_notary_fn *fn, cd_http_req *r)
{
    const errand e = {.fn = fn, .r = r};
    return cd_mbox_send(n->desks[which].box, &e);
}
