#include "chains/evmchain/core/config/vm_config.h"

#include "base/num_text.h"
#include "base/os/clock.h"

#include <stddef.h>
#include <stdio.h>

typedef enum kind {
    KIND_BOOL,
    KIND_TRI,
    KIND_U64,
    KIND_NUM,
    KIND_DUR,
    KIND_STR,
    KIND_LIST,
    KIND_JSON,
} kind;

typedef struct row {
    kind kind;
    const char *key;
    const char *alias;
    usize at; /* of the member */
} row;

static const row rows[] = {
#define X(kind_, field_, key_, alias_, dflt_)                                                                          \
    {                                                                                                                  \
        .kind = KIND_##kind_,                                                                                          \
        .key = (key_),                                                                                                 \
        .alias = (alias_),                                                                                             \
        .at = offsetof(cd_vm_config, field_),                                                                          \
    },
#include "chains/evmchain/core/config/vm_config.def"
};

/* --- defaults --- */

/* Splits "a,b,c"; nothing for "". */
static cd_str_list split(cd_arena *a, const char *text)
{
    usize cnt = text[0] == '\0' ? 0 : 1;
    for (const char *p = text; *p != '\0'; p++) {
        cnt += *p == ',' ? 1 : 0;
    }
    cd_bytes *items = cd_arena_array(a, cd_bytes, cnt);
    for (usize i = 0; i < cnt; i++) {
        usize n = 0;
        while (text[n] != ',' && text[n] != '\0') {
            n++;
        }
        items[i] = cd_bytes_of(text, n);
        text += n + 1;
    }
    return (cd_str_list){.items = items, .cnt = cnt};
}

static void set_defaults(cd_vm_config *c, cd_arena *a)
{
#define DFLT_BOOL(v)                     (v)
#define DFLT_TRI(v)                      (v)
#define DFLT_U64(v)                      (v)
#define DFLT_NUM(v)                      (v)
#define DFLT_DUR(v)                      (v)
#define DFLT_STR(v)                      cd_bytes_str(v)
#define DFLT_LIST(v)                     split(a, v)
#define DFLT_JSON(v)                     cd_bytes_str(v)
#define X(kind, field, key, alias, dflt) c->field = DFLT_##kind(dflt);
#include "chains/evmchain/core/config/vm_config.def"
#undef DFLT_BOOL
#undef DFLT_TRI
#undef DFLT_U64
#undef DFLT_NUM
#undef DFLT_DUR
#undef DFLT_STR
#undef DFLT_LIST
#undef DFLT_JSON
}

/* --- reading --- */

static cd_err read_duration(u64 *out, cd_json v, cd_errinfo *why)
{
    cd_bytes text;
    if (cd_json_kind_of(v) != CD_JSON_STR) {
        return cd_json_u64(out, v, why);
    }
    CD_TRY(cd_json_str(&text, v, why));
    return cd_duration_parse(out, text) == CD_OK
               ? CD_OK
               : cd_json_fail(v, CD_EFORMAT, "not a duration such as \"10m\" or \"500ms\"", why);
}

static cd_err read_list(cd_str_list *out, cd_arena *a, cd_json v, cd_errinfo *why)
{
    usize cnt = 0;
    CD_TRY(cd_json_arr(v, why));
    cd_bytes *items = cd_arena_array(a, cd_bytes, cd_json_len(v));
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        CD_TRY(cd_json_str(&items[cnt++], it.val, why));
    }
    *out = (cd_str_list){.items = items, .cnt = cnt};
    return CD_OK;
}

static cd_err read_row(cd_vm_config *c, cd_arena *a, const row *r, cd_json v, cd_errinfo *why)
{
    void *at = (u8 *)c + r->at;
    bool flag;
    cd_buf raw = {0};
    switch (r->kind) {
    case KIND_BOOL:
        return cd_json_bool(at, v, why);
    case KIND_TRI:
        CD_TRY(cd_json_bool(&flag, v, why));
        *(cd_tri *)at = flag ? CD_ON : CD_OFF;
        return CD_OK;
    case KIND_U64:
        return cd_json_u64(at, v, why);
    case KIND_NUM:
        return cd_json_f64(at, v, why);
    case KIND_DUR:
        return read_duration(at, v, why);
    case KIND_STR:
        return cd_json_str(at, v, why);
    case KIND_LIST:
        return read_list(at, a, v, why);
    case KIND_JSON:
        cd_json_raw(&raw, v);
        *(cd_bytes *)at = cd_arena_dup(a, cd_buf_bytes(&raw));
        cd_buf_fini(&raw);
        return CD_OK;
    }
    CD_UNREACHABLE();
}

static cd_err check(const cd_vm_config *c, cd_errinfo *why)
{
    if (c->populate_missing_tries != UINT64_MAX && (c->offline_pruning || c->pruning)) {
        return cd_fail(why, CD_EINVAL,
                       "cannot enable populate missing tries while offline pruning (enabled: "
                       "%s)/pruning (enabled: %s) are enabled",
                       c->offline_pruning ? "true" : "false", c->pruning ? "true" : "false");
    }
    if (!c->pruning && c->offline_pruning) {
        return cd_fail(why, CD_EINVAL, "cannot run offline pruning while pruning is disabled");
    }
    if (c->pruning && c->commit_interval == 0) {
        return cd_fail(why, CD_EINVAL, "cannot use commit interval of 0 with pruning enabled");
    }
    if (c->pruning && c->state_history == 0) {
        return cd_fail(why, CD_EINVAL, "cannot use state history of 0 with pruning enabled");
    }
    if (c->push_gossip_stake < 0 || c->push_gossip_stake > 1) {
        return cd_fail(why, CD_EINVAL, "push-gossip-percent-stake is %f but must be in the range [0, 1]",
                       c->push_gossip_stake);
    }
    if (c->commit_interval != 0 && c->state_sync_commit_interval % c->commit_interval != 0) {
        return cd_fail(why, CD_EINVAL,
                       "state-sync-commit-interval (%llu) must be a multiple of commit-interval "
                       "(%llu)",
                       (unsigned long long)c->state_sync_commit_interval, (unsigned long long)c->commit_interval);
    }
    return CD_OK;
}

cd_err cd_vm_config_parse(cd_vm_config *out, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_vm_config c = {0};
    cd_json doc;
    set_defaults(&c, a);
    if (text.n != 0) {
        CD_TRY(cd_json_parse(&doc, a, text, 0, why));
        CD_TRY(cd_json_obj(doc, why));
        for (usize i = 0; i < CD_COUNT(rows); i++) {
            cd_json v = cd_json_get(doc, rows[i].key);
            if (!cd_json_has(v) && rows[i].alias != NULL) {
                v = cd_json_get(doc, rows[i].alias);
            }
            if (cd_json_has(v)) {
                CD_TRY(read_row(&c, a, &rows[i], v, why));
            }
        }
    }
    CD_TRY(check(&c, why));
    *out = c;
    return CD_OK;
}

/* --- asking --- */

bool cd_vm_config_has(cd_bytes key)
{
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (cd_bytes_eq(key, cd_bytes_str(rows[i].key)) ||
            (rows[i].alias != NULL && cd_bytes_eq(key, cd_bytes_str(rows[i].alias)))) {
            return true;
        }
    }
    return false;
}

const char *cd_vm_config_alias(const char *key)
{
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (strcmp(key, rows[i].key) == 0 && rows[i].alias != NULL) {
            return rows[i].alias;
        }
    }
    return key;
}

static void write_number(cd_json_w *w, double v)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.15g", v);
    cd_json_w_raw(w, cd_bytes_str(text));
}

/* As Go does: "1h2m3s", "1.5s", "100ms", "0s". */
static void write_duration(cd_json_w *w, u64 ns)
{
    static const struct {
        const char *unit;
        u64 ns;
    } below[] = {{"ms", CD_NS_PER_MS}, {"\u00b5s", 1000}, {"ns", 1}};
    char text[64];
    u64 h = ns / (3600 * CD_NS_PER_SEC);
    u64 m = ns / (60 * CD_NS_PER_SEC) % 60;
    double s = (double)(ns % (60 * CD_NS_PER_SEC)) / (double)CD_NS_PER_SEC;
    usize i = 0;
    while (ns < CD_NS_PER_SEC && ns != 0 && ns < below[i].ns) {
        i++;
    }
    if (ns != 0 && ns < CD_NS_PER_SEC) {
        (void)snprintf(text, sizeof text, "%.12g%s", (double)ns / (double)below[i].ns, below[i].unit);
    } else if (h != 0) {
        (void)snprintf(text, sizeof text, "%lluh%llum%.12gs", (unsigned long long)h, (unsigned long long)m, s);
    } else if (m != 0) {
        (void)snprintf(text, sizeof text, "%llum%.12gs", (unsigned long long)m, s);
    } else {
        (void)snprintf(text, sizeof text, "%.12gs", s);
    }
    cd_json_w_cstr(w, text);
}

static void write_list(cd_json_w *w, const cd_str_list *l)
{
    if (l->cnt == 0) {
        cd_json_w_null(w);
        return;
    }
    cd_json_w_arr(w);
    for (usize i = 0; i < l->cnt; i++) {
        cd_json_w_str(w, l->items[i]);
    }
    cd_json_w_arr_end(w);
}

static void write_row(cd_json_w *w, const cd_vm_config *c, const row *r)
{
    const void *at = (const u8 *)c + r->at;
    cd_tri tri;
    u64 number;
    cd_bytes text;
    switch (r->kind) {
    case KIND_BOOL:
        cd_json_w_bool(w, *(const bool *)at);
        return;
    case KIND_TRI:
        tri = *(const cd_tri *)at;
        if (tri == CD_UNSET) {
            cd_json_w_null(w);
        } else {
            cd_json_w_bool(w, tri == CD_ON);
        }
        return;
    case KIND_DUR:
        write_duration(w, *(const u64 *)at);
        return;
    case KIND_U64:
        number = *(const u64 *)at;
        if (number == UINT64_MAX) {
            cd_json_w_null(w);
        } else {
            cd_json_w_u64(w, number);
        }
        return;
    case KIND_NUM:
        write_number(w, *(const double *)at);
        return;
    case KIND_STR:
        cd_json_w_str(w, *(const cd_bytes *)at);
        return;
    case KIND_LIST:
        write_list(w, at);
        return;
    case KIND_JSON:
        text = *(const cd_bytes *)at;
        if (text.n == 0) {
            cd_json_w_null(w);
        } else {
            cd_json_w_raw(w, text);
        }
        return;
    }
    CD_UNREACHABLE();
}

void cd_vm_config_json(cd_json_w *w, const cd_vm_config *c)
{
    cd_json_w_obj(w);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_json_w_key(w, rows[i].key);
        write_row(w, c, &rows[i]);
    }
    cd_json_w_obj_end(w);
}
