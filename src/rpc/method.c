#include "rpc/method.h"

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/jsonrpc.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

typedef struct row {
    cd_rpc_method method; /* first: given out */
    _Atomic u64 calls;
} row;

/* Names are our own, so the hash needs no key; a table is at most half full, so a name that is not there ends at a gap
 * soon. */
struct cd_rpc_table {
    const cd_rpc_group *groups;
    usize groups_cnt;
    bool *is_on; /* one a group */
    const cd_rpc_method **rows;
    usize rows_cnt;
    const cd_rpc_method **slots;
    usize mask;           /* of slots; 0 before the first row */
    atomic_bool *is_over; /* a place of its own: the table is frozen when this changes */
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
    return cd_fail(why, CD_ENOENT, "API service %.*s not found",
                   (int)cd_min_u64(group.n, CD_RPC_NAME_MAX), (const char *)group.p);
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

static void insert(cd_rpc_table *t, const cd_rpc_method *m)
{
    cd_bytes name = cd_bytes_str(m->name);
    usize at = name_hash(name) & t->mask;
    while (t->slots[at] != NULL) {
        CD_ASSERT(strcmp(t->slots[at]->name, m->name) != 0);
        at = (at + 1) & t->mask;
    }
    t->slots[at] = m;
}

static void grow(cd_rpc_table *t, usize cnt)
{
    usize cap = 16;
    while (cap < 2 * cnt) {
        cap *= 2;
    }
    if (cap <= t->mask) {
        return;
    }
    cd_free(t->slots);
    t->slots = cd_new_array(const cd_rpc_method *, cap);
    t->mask = cap - 1;
    for (usize i = 0; i < t->rows_cnt; i++) {
        insert(t, t->rows[i]);
    }
}

void cd_rpc_table_add(cd_rpc_table *t, const cd_rpc_method *rows, usize cnt)
{
    t->rows = cd_realloc(t->rows, (t->rows_cnt + cnt) * sizeof(const cd_rpc_method *));
    grow(t, t->rows_cnt + cnt);
    for (usize i = 0; i < cnt; i++) {
        CD_ASSERT(strlen(rows[i].name) < CD_RPC_NAME_MAX);
        if (cd_rpc_table_is_on(t, rows[i].group)) {
            row *r = cd_new(row);
            r->method = rows[i];
            insert(t, &r->method);
            t->rows[t->rows_cnt++] = &r->method;
        }
    }
}

const cd_rpc_method *cd_rpc_table_find(const cd_rpc_table *t, cd_bytes name)
{
    if (name.n >= CD_RPC_NAME_MAX || t->mask == 0) {
        return NULL;
    }
    usize at = name_hash(name) & t->mask;
    for (; t->slots[at] != NULL; at = (at + 1) & t->mask) {
        if (cd_bytes_eq(name, cd_bytes_str(t->slots[at]->name))) {
            return t->slots[at];
        }
    }
    return NULL;
}

static row *row_of(const cd_rpc_method *m)
{
    return (row *)(usize)m;
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

bool cd_rpc_is_late(const cd_rpc_call *call)
{
    if (atomic_load_explicit(call->service->table->is_over, memory_order_relaxed)) {
        return true;
    }
    return call->deadline_ns != UINT64_MAX &&
           cd_clock_mono_ns(cd_clock_real()) >= call->deadline_ns;
}
