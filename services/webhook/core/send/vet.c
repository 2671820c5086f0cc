/* Names and the addresses they lead to: what is known, what is asked, who waits for it.
 *
 *   look_up ─► is it known? ─► tenant has room? ─► all have room? ─► resolver ─► judge ─► who waits is told
 *                                  └─ waits behind its own ┴─ behind other tenants, in turn
 *
 * Who waits too long is told what was good last, or that nobody answers; the question goes on. */
#include "base/mem/mem.h"
#include "services/webhook/core/send/target_priv.h"

#include <arpa/inet.h>

enum {
    KEEP_MISSING_MS = 1000, /* how long there being none serves, or nobody having answered */
    KEEP_GOOD_MS = 600000,  /* how long good addresses serve while nobody answers */
    NAMES_MAX = 20000,      /* kept at a time */
    ASKED_MAX = 4096,       /* questions at a time */
    TENANT_ASKED_MAX = 16,  /* of them of one tenant */
};

/* Somebody who asks for names: a project. */
typedef struct tenant {
    cd_list hungry; /* link in the guard's list of tenants with names that wait for room among all questions */
    cd_list queue;  /* names that wait to be asked about */
    u32 asked;      /* names that are being asked about */
    char id[CD_WH_ID_MAX];
} tenant;

/* A host name: what is known of it, or who is to be told when it is. */
typedef struct name {
    cd_list link; /* in the guard's list by age, or in its tenant's queue; in none while it is being asked about */
    cd_wh_guard *guard;
    char host[CD_WH_HOST_MAX];
    tenant *tenant;    /* who asks, or will when it is its turn; NULL: nobody */
    void *lookup;      /* the question that is under way; NULL: none */
    cd_timer *late;    /* ends the patience of those who wait */
    cd_list waiting;   /* cd_wh_vetting: who is to be told */
    u64 until_ms;      /* err and to hold until then, by the loop's clock */
    u64 good_until_ms; /* `good` serves until then while nobody answers */
    cd_err err;
    cd_wh_addresses to;
    cd_wh_addresses good;
    char best[CD_WH_ADDRESS_MAX]; /* the address that a connection was last made to; "": none was */
} name;

struct cd_wh_vetting {
    cd_list link;
    cd_wh_vetted_fn *fn;
    void *ctx;
};

/* --- who asks --- */

static tenant *tenant_of(cd_wh_guard *g, const char *id)
{
    char key[CD_WH_ID_MAX] = {0};
    usize n = strlen(id);
    bool is_new;
    memcpy(key, id, n < sizeof key ? n : sizeof key - 1);
    tenant **slot = cd_hmap_put(&g->tenants, &is_new, key);
    if (is_new) {
        *slot = cd_new(tenant);
        memcpy((*slot)->id, key, sizeof key);
        cd_list_init(&(*slot)->hungry);
        cd_list_init(&(*slot)->queue);
    }
    return *slot;
}

static void tenant_rest(cd_wh_guard *g, tenant *t)
{
    if (t->asked == 0 && cd_list_is_empty(&t->queue)) {
        cd_list_del(&t->hungry);
        (void)cd_hmap_del(&g->tenants, t->id);
        cd_free(t);
    }
}

static void on_found(void *ctx, cd_err err, const cd_ip *found, usize cnt);

/* Asks what may be asked of a tenant. */
static void ask(cd_wh_guard *g, tenant *t)
{
    while (!cd_list_is_empty(&t->queue) && t->asked < TENANT_ASKED_MAX && g->asked < ASKED_MAX) {
        name *n = cd_list_of(t->queue.next, name, link);
        cd_list_del(&n->link);
        t->asked++;
        g->asked++;
        n->lookup = g->resolver.look_up(g->resolver.ctx, n->host, on_found, n);
    }
    if (cd_list_is_empty(&t->queue) || t->asked == TENANT_ASKED_MAX) {
        cd_list_del(&t->hungry);
    } else if (cd_list_is_empty(&t->hungry)) {
        cd_list_push_back(&g->hungry, &t->hungry);
    }
}

/* A question is over: the tenant's next one, and that of whoever waits longest for room. */
static void asked_end(cd_wh_guard *g, tenant *t)
{
    t->asked--;
    g->asked--;
    cd_list *first = cd_list_first(&g->hungry);
    if (first != NULL) {
        tenant *other = cd_list_of(first, tenant, hungry);
        cd_list_del(&other->hungry);
        ask(g, other);
    }
    ask(g, t);
    tenant_rest(g, t);
}

static void enqueue(name *n, tenant *t)
{
    cd_list_del(&n->link);
    n->tenant = t;
    cd_list_push_back(&t->queue, &n->link);
    ask(n->guard, t);
}

/* --- names --- */

static void name_free(name *n)
{
    if (n->lookup != NULL) {
        n->guard->resolver.drop(n->lookup);
    }
    while (!cd_list_is_empty(&n->waiting)) {
        cd_wh_vetting_drop(cd_list_of(n->waiting.next, cd_wh_vetting, link));
    }
    cd_timer_free(n->late);
    cd_list_del(&n->link);
    cd_free(n);
}

void cd__wh_names_init(cd_wh_guard *g)
{
    cd_hmap_init(&g->names, CD_HASH_KEYED, CD_WH_HOST_MAX, sizeof(name *));
    cd_hmap_init(&g->tenants, CD_HASH_KEYED, CD_WH_ID_MAX, sizeof(tenant *));
    cd_list_init(&g->by_age);
    cd_list_init(&g->hungry);
}

void cd__wh_names_fini(cd_wh_guard *g)
{
    void *v;
    for (usize it = 0; cd_hmap_next(&g->names, &it, NULL, &v);) {
        name_free(*(name **)v);
    }
    for (usize it = 0; cd_hmap_next(&g->tenants, &it, NULL, &v);) {
        cd_free(*(tenant **)v);
    }
    cd_hmap_fini(&g->names);
    cd_hmap_fini(&g->tenants);
}

static void forget_oldest(cd_wh_guard *g)
{
    cd_list *first = cd_list_first(&g->by_age);
    if (first != NULL && cd_hmap_cnt(&g->names) >= NAMES_MAX) {
        name *n = cd_list_of(first, name, link);
        char key[CD_WH_HOST_MAX];
        memcpy(key, n->host, sizeof key);
        name_free(n);
        (void)cd_hmap_del(&g->names, key);
    }
}

static void put_address(cd_wh_addresses *to, const cd_ip *ip)
{
    char *text = to->text[to->cnt++];
    const char *p = inet_ntop(ip->n == 4 ? AF_INET : AF_INET6, ip->b, text, CD_WH_ADDRESS_MAX);
    CD_ASSERT(p != NULL);
}

/* The address that was connected to last comes first. */
static void best_first(name *n)
{
    for (usize i = 1; i < n->to.cnt; i++) {
        if (strcmp(n->to.text[i], n->best) == 0) {
            memcpy(n->to.text[i], n->to.text[0], CD_WH_ADDRESS_MAX);
            memcpy(n->to.text[0], n->best, CD_WH_ADDRESS_MAX);
        }
    }
}

/* One address that must not be connected to refuses the name: which one is taken would be the name's choice. */
static void judge(name *n, const cd_ip *found, usize cnt)
{
    n->err = CD_OK;
    n->to = (cd_wh_addresses){0};
    for (usize i = 0; i < cnt; i++) {
        if (!cd_wh_guard_may(n->guard, cd_bytes_of(found[i].b, found[i].n))) {
            n->err = CD_EACCES;
        }
        if (n->to.cnt < CD_WH_TO_MAX) {
            put_address(&n->to, &found[i]);
        }
    }
    best_first(n);
}

/* What serves when nobody answers. */
static void fall_back(name *n, cd_err err)
{
    bool has_good = n->good_until_ms > cd_loop_now_ms(n->guard->loop);
    n->err = has_good ? CD_OK : err;
    n->to = has_good ? n->good : (cd_wh_addresses){0};
    n->until_ms = cd_loop_now_ms(n->guard->loop) + KEEP_MISSING_MS;
}

/* Tells those who wait. What they do then may free n, so it is not touched behind the first call. */
static void tell(name *n)
{
    cd_list told; /* takes over the list of those who wait */
    cd_list_add_after(&n->waiting, &told);
    cd_list_del(&n->waiting);
    cd_err err = n->err;
    cd_wh_addresses to = n->to;
    cd_timer_stop(n->late);
    while (!cd_list_is_empty(&told)) {
        cd_wh_vetting *v = cd_list_of(told.next, cd_wh_vetting, link);
        cd_wh_vetted_fn *fn = v->fn;
        void *arg = v->ctx;
        cd_wh_vetting_drop(v);
        fn(arg, err, &to);
    }
}

static void on_found(void *ctx, cd_err err, const cd_ip *found, usize cnt)
{
    name *n = ctx;
    cd_wh_guard *g = n->guard;
    tenant *t = n->tenant;
    u64 now = cd_loop_now_ms(g->loop);
    n->lookup = NULL;
    n->tenant = NULL;
    if (err != CD_OK && err != CD_ENOENT) {
        fall_back(n, err);
    } else if (err == CD_ENOENT || cnt == 0) {
        n->err = CD_ENOENT;
        n->until_ms = now + KEEP_MISSING_MS;
        n->good_until_ms = 0;
    } else {
        judge(n, found, cnt);
        n->until_ms = now + g->keep_ms;
        n->good = n->to;
        n->good_until_ms = n->err == CD_OK ? now + KEEP_GOOD_MS : 0;
    }
    cd_list_push_back(&g->by_age, &n->link);
    asked_end(g, t);
    tell(n);
}

/* Nobody has answered for so long that who waits is better off with what was good, or without. */
static void on_late(void *ctx)
{
    name *n = ctx;
    cd_wh_guard *g = n->guard;
    fall_back(n, CD_ETIMEOUT);
    if (n->lookup == NULL) { /* not even asked: others of its tenant keep it waiting */
        tenant *t = n->tenant;
        n->tenant = NULL;
        cd_list_del(&n->link);
        cd_list_push_back(&g->by_age, &n->link);
        ask(g, t);
        tenant_rest(g, t);
    }
    tell(n);
}

static name *name_find(cd_wh_guard *g, const char host[CD_WH_HOST_MAX])
{
    name **v = cd_hmap_get(&g->names, host);
    return v == NULL ? NULL : *v;
}

static name *name_of(cd_wh_guard *g, const char host[CD_WH_HOST_MAX])
{
    name *n = name_find(g, host);
    if (n == NULL) {
        forget_oldest(g);
        n = cd_new(name);
        n->guard = g;
        memcpy(n->host, host, sizeof n->host);
        n->late = cd_timer_new(g->loop, on_late, n);
        cd_list_init(&n->link);
        cd_list_init(&n->waiting);
        *(name **)cd_hmap_put(&g->names, NULL, n->host) = n;
    }
    return n;
}

/* --- what others call --- */

bool cd_wh_guard_known(cd_wh_guard *g, const cd_wh_target *t, cd_err *err, const cd_wh_addresses **to)
{
    if (t->is_literal) {
        g->literal.cnt = 1;
        memcpy(g->literal.text[0], t->address, sizeof t->address);
        *err = CD_OK;
        *to = &g->literal;
        return true;
    }
    const name *n = name_find(g, t->host);
    if (n == NULL || n->until_ms <= cd_loop_now_ms(g->loop)) {
        return false;
    }
    *err = n->err;
    *to = &n->to;
    return true;
}

cd_wh_vetting *cd_wh_guard_look_up(cd_wh_guard *g, const cd_wh_target *t, const char *id, cd_wh_vetted_fn *fn,
                                   void *ctx)
{
    CD_ASSERT(!t->is_literal);
    name *n = name_of(g, t->host);
    cd_wh_vetting *v = cd_new(cd_wh_vetting);
    v->fn = fn;
    v->ctx = ctx;
    if (cd_list_is_empty(&n->waiting)) {
        bool has_good = n->good_until_ms > cd_loop_now_ms(g->loop);
        cd_timer_start(n->late, has_good ? g->wait_good_ms : g->wait_ms, 0);
    }
    cd_list_push_back(&n->waiting, &v->link);
    if (n->lookup == NULL) {
        tenant *before = n->tenant;
        tenant *who = tenant_of(g, id);
        if (before != who) { /* in the queue of whoever asked last: another's may be long */
            enqueue(n, who);
        }
        if (before != NULL && before != who) {
            ask(g, before);
            tenant_rest(g, before);
        }
    }
    return v;
}

void cd_wh_vetting_drop(cd_wh_vetting *v)
{
    cd_list_del(&v->link);
    cd_free(v);
}

void cd_wh_guard_good(cd_wh_guard *g, const cd_wh_target *t, const char *address)
{
    name *n = t->is_literal ? NULL : name_find(g, t->host);
    if (n != NULL && strlen(address) < sizeof n->best) {
        memcpy(n->best, address, strlen(address) + 1);
        best_first(n);
    }
}
