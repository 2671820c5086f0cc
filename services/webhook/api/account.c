/* Who calls: accounts by key, remembered for a moment, and how often a project may call. */
#include "services/webhook/api/call.h"

#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "crypto/hash/sha2.h"
#include "services/common/keys.h"

#include <stdio.h>

enum {
    ACCOUNTS_MAX = 10000, /* kept at a time */
    FRESH_MS = 2000,      /* how long an account is believed */
    USED_MS = 60 * 1000,  /* how exact "last used" is */
};

const cd_wh_tier *cd_wh_tier_of(const char *name)
{
    static const cd_wh_tier tiers[] = {
        {"free", 25, 5}, {"payg", 300, 100}, {"growth", 500, 250}, {"enterprise", 1000, 500}};
    for (usize i = 0; i < CD_COUNT(tiers); i++) {
        if (strcmp(name, tiers[i].name) == 0) {
            return &tiers[i];
        }
    }
    return &tiers[0];
}

/* --- accounts --- */

typedef struct account {
    cd_arena mem;
    cd_wh_account a;
    u64 checked_ms;
    u64 noted_ms; /* "last used" was written */
} account;

static void drop_account(void *ctx, void *val)
{
    account *acc = val;
    (void)ctx;
    cd_arena_fini(&acc->mem);
    cd_free(acc);
}

/* The store is told that a key was used. */
typedef struct noting {
    cd_job job;
    u64 at_ms;
    char key[CD_WH_ID_MAX];
} noting;

static cd_err run_noting(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    noting *n = cd_list_of(job, noting, job);
    return cd_wh_key_used(s, n->key, n->at_ms, why);
}

static void done_noting(cd_job *job)
{
    cd_free(cd_list_of(job, noting, job));
}

static void note_use(cd_wh_api *a, account *acc, const account *old)
{
    acc->noted_ms = old != NULL ? old->noted_ms : acc->a.key.used_ms;
    if (acc->checked_ms - cd_min_u64(acc->noted_ms, acc->checked_ms) <= USED_MS) {
        return;
    }
    acc->noted_ms = acc->checked_ms;
    noting *n = cd_new(noting);
    n->job = (cd_job){.run = run_noting, .done = done_noting};
    n->at_ms = acc->checked_ms;
    (void)snprintf(n->key, sizeof n->key, "%s", acc->a.key.id);
    cd_jobs_write(a->cfg.db, &n->job);
}

/* The store is asked whose a key is. */
typedef struct asking {
    cd_job job;
    cd_wh_api *api;
    cd_wh_account_fn *fn;
    void *arg;
    account *found;
    cd_hash32 hash;
    usize n;
    u8 text[CD_KEY_TEXT_MAX];
} asking;

static cd_err run_asking(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    asking *q = cd_list_of(job, asking, job);
    return cd_wh_key_find(s, &q->found->a.key, &q->found->a.project, &q->found->mem, cd_bytes_of(q->text, q->n), why);
}

static void done_asking(cd_job *job)
{
    asking *q = cd_list_of(job, asking, job);
    cd_wh_api *a = q->api;
    account *acc = q->found;
    if (job->err == CD_OK) {
        acc->checked_ms = cd__wapi_now_ms(a);
        note_use(a, acc, cd_lru_get(a->accounts, q->hash.b));
        if (!cd_lru_put(a->accounts, q->hash.b, acc, 1)) {
            CD_UNREACHABLE();
        }
        q->fn(q->arg, &acc->a, CD_OK);
    } else {
        if (job->err != CD_ENOENT) {
            cd_log_error(a->cfg.log, "key not looked up", CD_F("why", job->why.msg));
        }
        drop_account(NULL, acc);
        q->fn(q->arg, NULL, job->err);
    }
    cd_wipe(q->text, sizeof q->text);
    cd_free(q);
}

void cd_wh_api_account(cd_wh_api *a, cd_bytes key, cd_wh_account_fn *fn, void *arg)
{
    cd_hash32 hash;
    if (key.n == 0 || key.n > CD_KEY_TEXT_MAX) {
        fn(arg, NULL, CD_ENOENT);
        return;
    }
    cd_sha256(&hash, key);
    account *acc = cd_lru_get(a->accounts, hash.b);
    if (acc != NULL && cd__wapi_now_ms(a) - acc->checked_ms < FRESH_MS) {
        fn(arg, &acc->a, CD_OK);
        return;
    }
    if (cd_jobs_away(a->cfg.db)) {
        fn(arg, NULL, CD_ECLOSED);
        return;
    }
    asking *q = cd_new(asking);
    q->api = a;
    q->fn = fn;
    q->arg = arg;
    q->hash = hash;
    q->found = cd_new(account);
    q->n = key.n;
    memcpy(q->text, key.p, key.n);
    q->job = (cd_job){.run = run_asking, .done = done_asking, .is_hasty = true};
    cd_jobs_read(a->cfg.db, &q->job);
}

/* --- rates --- */

bool cd__wapi_take(cd__wapi_call *c)
{
    cd_wh_api *a = c->api;
    u32 limit = cd_wh_tier_of(c->account.project.tier)->requests_per_s;
    cd_rate_left left = cd_rate_take(a->rates, c->account.project.id, limit, cd_clock_wall_s(a->cfg.clock));
    left.is_in |= a->cfg.no_rate_limit;
    cd_buf lines = {0};
    cd_rate_put_lines(&lines, &left);
    cd_http_req_add_lines(c->req, cd_buf_bytes(&lines));
    cd_buf_fini(&lines);
    return left.is_in;
}

/* --- life --- */

void cd__wapi_accounts_init(cd_wh_api *a)
{
    a->accounts = cd_lru_new(CD_HASH_KEYED, 32, ACCOUNTS_MAX, drop_account, NULL);
    a->rates = cd_rate_new(ACCOUNTS_MAX);
}

void cd__wapi_accounts_fini(cd_wh_api *a)
{
    cd_lru_free(a->accounts);
    cd_rate_free(a->rates);
}
