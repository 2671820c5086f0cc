#include "base/log/metrics.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"

#include <inttypes.h>
#include <stdio.h>

enum { BOUNDS_MAX = 32 };

typedef enum kind {
    KIND_COUNTER,
    KIND_GAUGE,
    KIND_GAUGE_FN,
    KIND_HIST,
} kind;

struct cd_hist {
    double per;
    usize cnt; /* number of bounds; one more bucket takes what is above the last */
    u64 bounds[BOUNDS_MAX];
    _Atomic u64 buckets[BOUNDS_MAX + 1];
    _Atomic u64 sum;
};

/* One line (or, for a histogram, block) of the text. */
typedef struct metric {
    struct metric *next;
    const cd_metrics *owner; /* the registry or its part */
    kind kind;
    char *name;   /* with the prefix */
    char *labels; /* {a="b"} without the braces; "" when there are none */
    char *help;
    cd_counter counter;
    cd_gauge gauge;
    double (*fn)(void *ctx);
    void *ctx;
    cd_hist *hist;
} metric;

struct cd_metrics {
    cd_mutex lock; /* protects the list; values are atomic */
    metric *first; /* sorted by name, then labels */
    char *prefix;
    cd_metrics *whole; /* the registry that holds the metrics; a registry that is no part of another is its own */
    char *label;       /* a part's own label, written as in metric.labels; "" when there is none */
};

static char *str_dup(const char *s)
{
    usize n = strlen(s) + 1;
    return memcpy(cd_alloc(n), s, n);
}

static char *labels_fmt(const cd_label *labels, usize cnt);

static cd_metrics *metrics_new(const char *prefix, const cd_label *label)
{
    cd_metrics *m = cd_new(cd_metrics);
    cd_mutex_init(&m->lock);
    m->prefix = str_dup(prefix);
    m->label = labels_fmt(label, label == NULL ? 0 : 1);
    m->whole = m;
    return m;
}

cd_metrics *cd_metrics_new(const char *prefix)
{
    return metrics_new(prefix, NULL);
}

cd_metrics *cd_metrics_part_new(cd_metrics *whole, const cd_label *label)
{
    CD_ASSERT(whole->whole == whole);
    cd_metrics *m = metrics_new(whole->prefix, label);
    m->whole = whole;
    return m;
}

static void metric_free(metric *x)
{
    cd_free(x->name);
    cd_free(x->labels);
    cd_free(x->help);
    cd_free(x->hist);
    cd_free(x);
}

void cd_metrics_free(cd_metrics *m)
{
    if (m == NULL) {
        return;
    }
    cd_mutex_lock(&m->whole->lock);
    for (metric **at = &m->whole->first; *at != NULL;) {
        metric *x = *at;
        if (x->owner == m) {
            *at = x->next;
            metric_free(x);
        } else {
            CD_ASSERT(m->whole != m); /* else a part was not freed before the whole */
            at = &x->next;
        }
    }
    cd_mutex_unlock(&m->whole->lock);
    cd_mutex_fini(&m->lock);
    cd_free(m->prefix);
    cd_free(m->label);
    cd_free(m);
}

static bool is_name(const char *s)
{
    bool ok = *s != '\0' && !(*s >= '0' && *s <= '9');
    for (; *s != '\0'; s++) {
        ok = ok && ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || *s == '_');
    }
    return ok;
}

/* Escapes backslash and newline, in label values the quote as well. */
static void put_escaped(cd_buf *out, const char *s, bool is_label)
{
    for (; *s != '\0'; s++) {
        if (*s == '\n') {
            cd_buf_str(out, "\\n");
        } else {
            if (*s == '\\' || (is_label && *s == '"')) {
                cd_buf_u8(out, '\\');
            }
            cd_buf_u8(out, (u8)*s);
        }
    }
}

static char *labels_fmt(const cd_label *labels, usize cnt)
{
    cd_buf b = {0};
    for (usize i = 0; i < cnt; i++) {
        CD_ASSERT(is_name(labels[i].name));
        cd_buf_fmt(&b, "%s%s=\"", i == 0 ? "" : ",", labels[i].name);
        put_escaped(&b, labels[i].value, true);
        cd_buf_u8(&b, '"');
    }
    char *s = str_dup(cd_buf_cstr(&b));
    cd_buf_fini(&b);
    return s;
}

/* Finds the metric or inserts a copy of fresh, whose hist then belongs to the registry. */
static metric *metric_get(cd_metrics *m, const metric *fresh, const char *name, const char *help,
                          const cd_label *labels, usize cnt, bool *is_new)
{
    CD_ASSERT(is_name(name));
    cd_buf b = {0};
    cd_buf_fmt(&b, "%s%s%s", m->prefix, m->prefix[0] == '\0' ? "" : "_", name);
    char *full = str_dup(cd_buf_cstr(&b));
    cd_buf_clear(&b);
    char *own = labels_fmt(labels, cnt);
    cd_buf_fmt(&b, "%s%s%s", m->label, m->label[0] == '\0' || own[0] == '\0' ? "" : ",", own);
    char *text = str_dup(cd_buf_cstr(&b));
    cd_free(own);
    cd_buf_fini(&b);

    cd_mutex_lock(&m->whole->lock);
    metric **at = &m->whole->first;
    int c = -1;
    for (; *at != NULL; at = &(*at)->next) {
        int by_name = strcmp((*at)->name, full);
        CD_ASSERT(by_name != 0 || (*at)->kind == fresh->kind);
        c = by_name != 0 ? by_name : strcmp((*at)->labels, text);
        if (c >= 0) {
            break;
        }
    }
    metric *x = *at;
    *is_new = x == NULL || c != 0;
    if (*is_new) {
        x = cd_new(metric);
        *x = *fresh;
        x->owner = m;
        x->name = full;
        x->labels = text;
        x->help = str_dup(help);
        x->next = *at;
        *at = x;
    }
    CD_ASSERT(x->owner == m);
    cd_mutex_unlock(&m->whole->lock);
    if (!*is_new) {
        cd_free(full);
        cd_free(text);
    }
    return x;
}

cd_counter *cd_metrics_counter(cd_metrics *m, const char *name, const char *help, const cd_label *labels, usize cnt)
{
    bool is_new;
    metric fresh = {.kind = KIND_COUNTER};
    return &metric_get(m, &fresh, name, help, labels, cnt, &is_new)->counter;
}

cd_gauge *cd_metrics_gauge(cd_metrics *m, const char *name, const char *help, const cd_label *labels, usize cnt)
{
    bool is_new;
    metric fresh = {.kind = KIND_GAUGE};
    return &metric_get(m, &fresh, name, help, labels, cnt, &is_new)->gauge;
}

void cd_metrics_gauge_fn(cd_metrics *m, const char *name, const char *help, const cd_label *labels, usize cnt,
                         double (*fn)(void *ctx), void *ctx)
{
    bool is_new;
    metric fresh = {.kind = KIND_GAUGE_FN, .fn = fn, .ctx = ctx};
    (void)metric_get(m, &fresh, name, help, labels, cnt, &is_new);
    CD_ASSERT(is_new);
}

cd_hist *cd_metrics_hist(cd_metrics *m, const char *name, const char *help, const cd_label *labels, usize cnt,
                         const u64 *bounds, usize bounds_cnt, double per)
{
    CD_ASSERT(bounds_cnt >= 1 && bounds_cnt <= BOUNDS_MAX && per > 0);
    cd_hist *h = cd_new(cd_hist);
    h->per = per;
    h->cnt = bounds_cnt;
    for (usize i = 0; i < bounds_cnt; i++) {
        CD_ASSERT(i == 0 || bounds[i] > bounds[i - 1]);
        h->bounds[i] = bounds[i];
    }
    bool is_new;
    metric fresh = {.kind = KIND_HIST, .hist = h};
    metric *x = metric_get(m, &fresh, name, help, labels, cnt, &is_new);
    if (!is_new) {
        cd_free(h);
    }
    return x->hist;
}

void cd_hist_add(cd_hist *h, u64 v)
{
    usize i = 0;
    while (i < h->cnt && v > h->bounds[i]) {
        i++;
    }
    atomic_fetch_add_explicit(&h->buckets[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum, v, memory_order_relaxed);
}

static void hist_fmt(cd_buf *out, const metric *x)
{
    const cd_hist *h = x->hist;
    const char *comma = x->labels[0] == '\0' ? "" : ",";
    u64 total = 0;
    for (usize i = 0; i <= h->cnt; i++) {
        char le[32] = "+Inf";
        if (i < h->cnt) {
            (void)snprintf(le, sizeof le, "%.15g", (double)h->bounds[i] / h->per);
        }
        total += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
        cd_buf_fmt(out, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", x->name, x->labels, comma, le, total);
    }
    const char *open = x->labels[0] == '\0' ? "" : "{";
    const char *close = x->labels[0] == '\0' ? "" : "}";
    double sum = (double)atomic_load_explicit(&h->sum, memory_order_relaxed) / h->per;
    cd_buf_fmt(out, "%s_sum%s%s%s %.15g\n", x->name, open, x->labels, close, sum);
    cd_buf_fmt(out, "%s_count%s%s%s %" PRIu64 "\n", x->name, open, x->labels, close, total);
}

static void value_fmt(cd_buf *out, const metric *x)
{
    switch (x->kind) {
    case KIND_COUNTER:
        cd_buf_fmt(out, " %" PRIu64 "\n", cd_counter_get(&x->counter));
        return;
    case KIND_GAUGE:
        cd_buf_fmt(out, " %" PRId64 "\n", cd_gauge_get(&x->gauge));
        return;
    case KIND_GAUGE_FN:
        cd_buf_fmt(out, " %.15g\n", x->fn(x->ctx));
        return;
    case KIND_HIST:
        break;
    }
    CD_UNREACHABLE();
}

static void metric_fmt(cd_buf *out, const metric *x, bool is_first_of_name)
{
    static const char *const types[] = {
        [KIND_COUNTER] = "counter",
        [KIND_GAUGE] = "gauge",
        [KIND_GAUGE_FN] = "gauge",
        [KIND_HIST] = "histogram",
    };
    if (is_first_of_name) {
        cd_buf_fmt(out, "# HELP %s ", x->name);
        put_escaped(out, x->help, false);
        cd_buf_fmt(out, "\n# TYPE %s %s\n", x->name, types[x->kind]);
    }
    if (x->kind == KIND_HIST) {
        hist_fmt(out, x);
        return;
    }
    cd_buf_str(out, x->name);
    if (x->labels[0] != '\0') {
        cd_buf_fmt(out, "{%s}", x->labels);
    }
    value_fmt(out, x);
}

void cd_metrics_fmt(cd_metrics *m, cd_buf *out)
{
    /* No metric is freed while the text is made, so a list taken under the lock can be read without it. */
    cd_buf list = {0};
    cd_mutex_lock(&m->lock);
    for (const metric *x = m->first; x != NULL; x = x->next) {
        cd_buf_put(&list, cd_bytes_of(&x, sizeof x));
    }
    cd_mutex_unlock(&m->lock);

    const metric *before = NULL;
    for (usize i = 0; i < list.n; i += sizeof before) {
        const metric *x;
        memcpy(&x, list.p + i, sizeof x);
        metric_fmt(out, x, before == NULL || strcmp(before->name, x->name) != 0);
        before = x;
    }
    cd_buf_fini(&list);
}
