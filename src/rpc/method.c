#include "rpc/method.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "rpc/jsonrpc_priv.h"
#include "rpc/named.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

typedef struct row {
    cd_rpc_method method; /* first: given out */
    _Atomic u64 calls;
    void *initial; /* the parameters of a call before anything is read */
} row;

/* A name that leads to a method. */
typedef struct slot {
    cd_bytes name; /* n = 0: a free slot */
    const cd_rpc_method *method;
} slot;

/* Another name of a service. */
typedef struct service_alias {
    const char *service;
    const char *alias;
} service_alias;

/* Names are our own, so the hash needs no key; a table is at most half full, so a name that is not there ends at a gap
 * soon. */
struct cd_rpc_table {
    const cd_rpc_group *groups;
    usize groups_cnt;
    bool *is_on; /* one a group of methods */
    const cd_rpc_method **rows;
    usize rows_cnt;
    slot *slots;
    usize names_cnt;
    usize mask;           /* number of slots less one; 0 before the first row */
    atomic_bool *is_over; /* allocated apart, because it changes when the table is frozen */
    service_alias *services;
    usize services_cnt;
    cd_arena mem; /* holds names that were put together, and default values */
};

static u64 name_hash(cd_bytes name)
{
    u64 h = name.n;
    for (usize i = 0; i < name.n; i++) {
        h = (h ^ name.p[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

cd_rpc_table *cd_rpc_table_new(const cd_rpc_group *groups, usize cnt)
{
    cd_rpc_table *t = cd_new(cd_rpc_table);
    t->groups = groups;
    t->groups_cnt = cnt;
    t->is_on = cd_new_array(bool, cnt);
    t->is_over = cd_new(atomic_bool);
    return t;
}

void cd_rpc_table_free(cd_rpc_table *t)
{
    if (t != NULL) {
        for (usize i = 0; i < t->rows_cnt; i++) {
            cd_free((row *)(usize)t->rows[i]);
        }
        cd_free(t->is_on);
        cd_free(t->is_over);
        cd_free(t->rows);
        cd_free(t->slots);
        cd_free(t->services);
        cd_arena_fini(&t->mem);
        cd_free(t);
    }
}

cd_err cd_rpc_table_enable(cd_rpc_table *t, cd_bytes group, cd_errinfo *why)
{
    for (usize i = 0; i < t->groups_cnt; i++) {
        const cd_rpc_group *g = &t->groups[i];
        if (cd_bytes_eq(group, cd_bytes_str(g->name)) ||
            (g->alias != NULL && cd_bytes_eq(group, cd_bytes_str(g->alias)))) {
            t->is_on[i] = true;
            return CD_OK;
        }
    }
    return cd_fail(why, CD_ENOENT, "API service %.*s not found", (int)cd_min_u64(group.n, CD_RPC_NAME_MAX),
                   (const char *)group.p);
}

void cd_rpc_table_enable_default(cd_rpc_table *t)
{
    for (usize i = 0; i < t->groups_cnt; i++) {
        t->is_on[i] = t->is_on[i] || t->groups[i].is_default;
    }
}

bool cd_rpc_table_is_on(const cd_rpc_table *t, const char *group)
{
    if (group[0] == '\0') {
        return true;
    }
    for (usize i = 0; i < t->groups_cnt; i++) {
        if (strcmp(group, t->groups[i].name) == 0) {
            return t->is_on[i];
        }
    }
    CD_UNREACHABLE();
}

static void place(cd_rpc_table *t, cd_bytes name, const cd_rpc_method *m)
{
    usize at = name_hash(name) & t->mask;
    while (t->slots[at].name.n != 0) {
        CD_ASSERT(!cd_bytes_eq(t->slots[at].name, name));
        at = (at + 1) & t->mask;
    }
    t->slots[at] = (slot){.name = name, .method = m};
}

/* Makes room for one more name. */
static void grow(cd_rpc_table *t)
{
    slot *old = t->slots;
    usize old_cap = t->mask == 0 ? 0 : t->mask + 1;
    if (2 * (t->names_cnt + 1) <= old_cap) {
        return;
    }
    usize cap = old_cap == 0 ? 16 : 2 * old_cap;
    t->slots = cd_new_array(slot, cap);
    t->mask = cap - 1;
    for (usize i = 0; i < old_cap; i++) {
        if (old[i].name.n != 0) {
            place(t, old[i].name, old[i].method);
        }
    }
    cd_free(old);
}

static void insert(cd_rpc_table *t, cd_bytes name, const cd_rpc_method *m)
{
    CD_ASSERT(name.n < CD_RPC_NAME_MAX);
    grow(t);
    place(t, name, m);
    t->names_cnt++;
}

/* Inserts a name under its service and under what else that is called. */
static void insert_all(cd_rpc_table *t, cd_bytes name, const cd_rpc_method *m)
{
    const u8 *dot = memchr(name.p, '.', name.n);
    cd_bytes service = cd_bytes_sub(name, 0, dot == NULL ? 0 : (usize)(dot - name.p));
    insert(t, name, m);
    for (usize i = 0; i < t->services_cnt; i++) {
        if (cd_bytes_eq(service, cd_bytes_str(t->services[i].service))) {
            const char *other = cd_arena_fmt(&t->mem, "%s%.*s", t->services[i].alias, (int)(name.n - service.n),
                                             (const char *)name.p + service.n);
            insert(t, cd_bytes_str(other), m);
        }
    }
}

void cd_rpc_table_alias(cd_rpc_table *t, const char *service, const char *alias)
{
    t->services = cd_realloc(t->services, (t->services_cnt + 1) * sizeof *t->services);
    t->services[t->services_cnt++] = (service_alias){.service = service, .alias = alias};
}

static const cd_rpc_method *add_row(cd_rpc_table *t, const cd_rpc_method *m)
{
    row *r = cd_new(row);
    r->method = *m;
    if (m->args != NULL) {
        r->initial = cd_arena_alloc(&t->mem, m->args->size);
        cd__rpc_args_init(r->initial, &t->mem, m->args);
    }
    return &r->method;
}

void cd_rpc_table_add(cd_rpc_table *t, const cd_rpc_method *rows, usize cnt)
{
    t->rows = cd_realloc(t->rows, (t->rows_cnt + cnt) * sizeof(const cd_rpc_method *));
    for (usize i = 0; i < cnt; i++) {
        if (cd_rpc_table_is_on(t, rows[i].group)) {
            const cd_rpc_method *m = add_row(t, &rows[i]);
            t->rows[t->rows_cnt++] = m;
            insert_all(t, cd_bytes_str(m->name), m);
            for (const char *at = m->aliases == NULL ? "" : m->aliases; *at != '\0'; at += strspn(at, " ")) {
                usize n = strcspn(at, " ");
                insert_all(t, cd_bytes_of(at, n), m);
                at += n;
            }
        }
    }
}

const cd_rpc_method *cd_rpc_table_find(const cd_rpc_table *t, cd_bytes name)
{
    if (name.n >= CD_RPC_NAME_MAX || t->mask == 0) {
        return NULL;
    }
    usize at = name_hash(name) & t->mask;
    for (; t->slots[at].name.n != 0; at = (at + 1) & t->mask) {
        if (cd_bytes_eq(name, t->slots[at].name)) {
            return t->slots[at].method;
        }
    }
    return NULL;
}

bool cd_rpc_table_has_service(const cd_rpc_table *t, cd_bytes service)
{
    for (usize i = 0; i <= t->mask && t->mask != 0; i++) {
        cd_bytes name = t->slots[i].name;
        if (name.n > service.n && name.p[service.n] == '.' && cd_bytes_eq(cd_bytes_sub(name, 0, service.n), service)) {
            return true;
        }
    }
    return false;
}

static row *row_of(const cd_rpc_method *m)
{
    return (row *)(usize)m;
}

const void *cd__rpc_method_initial(const cd_rpc_method *m)
{
    return row_of(m)->initial;
}

void cd_rpc_method_called(const cd_rpc_method *m)
{
    atomic_fetch_add_explicit(&row_of(m)->calls, 1, memory_order_relaxed);
}

u64 cd_rpc_method_calls(const cd_rpc_method *m)
{
    return atomic_load_explicit(&row_of(m)->calls, memory_order_relaxed);
}

usize cd_rpc_table_cnt(const cd_rpc_table *t)
{
    return t->rows_cnt;
}

const cd_rpc_method *cd_rpc_table_at(const cd_rpc_table *t, usize idx)
{
    CD_ASSERT(idx < t->rows_cnt);
    return t->rows[idx];
}

cd_err cd_rpc_done(cd_rpc_call *call, cd_err e, const cd_errinfo *why)
{
    if (e != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why->msg);
    }
    cd_json_w_obj(call->out);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

void cd_rpc_set_error(cd_rpc_call *call, int code, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    call->error_code = code;
    call->error_message = cd_arena_str(call->arena, cd_bytes_str(text));
}

void cd_rpc_table_end(const cd_rpc_table *t)
{
    atomic_store_explicit(t->is_over, true, memory_order_relaxed);
}

bool cd_rpc_is_ending(const cd_rpc_call *call)
{
    return atomic_load_explicit(call->service->table->is_over, memory_order_relaxed);
}

bool cd_rpc_is_late(const cd_rpc_call *call)
{
    if (cd_rpc_is_ending(call)) {
        return true;
    }
    return call->deadline_ns != UINT64_MAX && cd_clock_mono_ns(cd_clock_real()) >= call->deadline_ns;
}
