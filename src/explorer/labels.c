#include "explorer/labels.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/text.h"
#include "explorer/explorer_priv.h"

#include <stdlib.h>

enum { ADDR_TEXT = 42, LABELS_MAX = 1 << 20 };

typedef struct label {
    cd_addr20 addr;
    u8 name_n;
    bool is_own; /* from the operator's file, not built in */
    u8 name[CD_LABEL_MAX];
} label;

struct cd_labels {
    label *v; /* ascending by address */
    usize cnt;
    usize cap;
};

static int by_addr(const void *a, const void *b)
{
    return memcmp(((const label *)a)->addr.b, ((const label *)b)->addr.b, sizeof(cd_addr20));
}

/* The file's names come before those that everybody knows. */
static int by_addr_and_owner(const void *a, const void *b)
{
    int order = by_addr(a, b);
    return order != 0 ? order : ((const label *)b)->is_own - ((const label *)a)->is_own;
}

static label *add(cd_labels *l)
{
    if (l->cnt == l->cap) {
        l->cap = cd_max_u64(64, 2 * l->cap);
        l->v = cd_realloc(l->v, l->cap * sizeof *l->v);
    }
    l->v[l->cnt] = (label){0};
    return &l->v[l->cnt++];
}

static void name_set(label *x, cd_bytes name)
{
    memcpy(x->name, name.p, name.n);
    x->name_n = (u8)name.n;
}

static void add_known(cd_labels *l)
{
    static const struct {
        const char *addr;
        const char *name;
    } rows[] = {
#define X(addr, name) {addr, name},
#include "explorer/labels.def"
#undef X
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        label *x = add(l);
        cd_err e = cd_hex_parse(x->addr.b, cd_bytes_str(rows[i].addr));
        CD_ASSERT(e == CD_OK);
        name_set(x, cd_bytes_str(rows[i].name));
    }
}

static cd_err add_line(cd_labels *l, cd_bytes line, u64 number, cd_errinfo *why)
{
    line = cd_text_trim(line, NULL);
    if (line.n == 0 || line.p[0] == '#') {
        return CD_OK;
    }
    label x = {.is_own = true};
    if (line.n < ADDR_TEXT || line.p[0] != '0' || (line.p[1] | 0x20) != 'x' ||
        cd_hex_parse(x.addr.b, cd_bytes_sub(line, 2, ADDR_TEXT - 2)) != CD_OK ||
        (line.n > ADDR_TEXT && line.p[ADDR_TEXT] > ' ')) {
        return cd_fail(why, CD_EFORMAT, "line %llu does not begin with an address", (unsigned long long)number);
    }
    cd_bytes name = cd_text_trim(cd_bytes_sub(line, ADDR_TEXT, line.n - ADDR_TEXT), NULL);
    if (name.n == 0 || name.n > CD_LABEL_MAX) {
        return cd_fail(why, CD_EFORMAT, "line %llu: a name has 1 to %d bytes", (unsigned long long)number,
                       CD_LABEL_MAX);
    }
    if (l->cnt == LABELS_MAX) {
        return cd_fail(why, CD_EFORMAT, "more than %d names", LABELS_MAX);
    }
    name_set(&x, name);
    *add(l) = x;
    return CD_OK;
}

cd_err cd_labels_new(cd_labels **out, cd_bytes text, cd_errinfo *why)
{
    cd_labels *l = cd_new(cd_labels);
    cd_err e = CD_OK;
    add_known(l);
    for (u64 number = 1; e == CD_OK && text.n != 0; number++) {
        const u8 *end = memchr(text.p, '\n', text.n);
        usize n = end == NULL ? text.n : (usize)(end - text.p);
        e = add_line(l, cd_bytes_sub(text, 0, n), number, why);
        usize used = cd_min_u64(n + 1, text.n);
        text = cd_bytes_sub(text, used, text.n - used);
    }
    if (e != CD_OK) {
        cd_labels_free(l);
        return e;
    }
    qsort(l->v, l->cnt, sizeof *l->v, by_addr_and_owner);
    usize kept = 0;
    for (usize i = 0; i < l->cnt; i++) {
        if (kept == 0 || by_addr(&l->v[kept - 1], &l->v[i]) != 0) {
            l->v[kept++] = l->v[i];
        }
    }
    l->cnt = kept;
    *out = l;
    return CD_OK;
}

void cd_labels_free(cd_labels *l)
{
    if (l != NULL) {
        cd_free(l->v);
        cd_free(l);
    }
}

cd_bytes cd_labels_of(const cd_labels *l, const cd_addr20 *addr)
{
    const label key = {.addr = *addr};
    const label *x = l == NULL ? NULL : bsearch(&key, l->v, l->cnt, sizeof *l->v, by_addr);
    return x == NULL ? (cd_bytes){0} : cd_bytes_of(x->name, x->name_n);
}

bool cd__is_called(cd_bytes name, cd_bytes typed)
{
    for (usize i = 0; i < name.n && name.n == typed.n; i++) {
        u8 a = name.p[i];
        u8 b = typed.p[i];
        a |= (u8)(a - 'A') < 26 ? 0x20 : 0;
        b |= (u8)(b - 'A') < 26 ? 0x20 : 0;
        if (a != b) {
            return false;
        }
    }
    return name.n == typed.n;
}

usize cd_labels_find(const cd_labels *l, cd_addr20 *out, usize max, cd_bytes name)
{
    usize cnt = 0;
    for (usize i = 0; l != NULL && i < l->cnt && cnt < max; i++) {
        if (cd__is_called(cd_bytes_of(l->v[i].name, l->v[i].name_n), name)) {
            out[cnt++] = l->v[i].addr;
        }
    }
    return cnt;
}
