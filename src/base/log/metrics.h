/* base/log/metrics.h - counters, gauges and histograms, and their Prometheus text form (0.0.4).
 *
 * A registry owns its metrics; asking for the same name and labels again gives the same object, so
 * a module keeps the pointer and updates it without a lock. Threading: shared. */
#ifndef CD_BASE_METRICS_H
#define CD_BASE_METRICS_H

#include "base/mem/buf.h"

#include <stdatomic.h>

typedef struct cd_metrics cd_metrics;

/* A number that only grows. */
typedef struct cd_counter {
    _Atomic u64 v;
} cd_counter;

/* A number that goes up and down. */
typedef struct cd_gauge {
    _Atomic i64 v;
} cd_gauge;

typedef struct cd_hist cd_hist;

/* One label. Arrays of labels may be NULL when cnt is 0; they are copied. */
typedef struct cd_label {
    const char *name;
    const char *value;
} cd_label;

/* cd_metrics_new makes a registry whose names all begin with prefix and '_' (prefix "" : nothing).
 */
cd_metrics *cd_metrics_new(const char *prefix);
void cd_metrics_free(cd_metrics *m); /* NULL is allowed */

/* cd_metrics_part_new makes a registry whose metrics stand in the text of whole, each with one more label (NULL: none),
 * for a module that comes and goes. cd_metrics_free of a part takes them out again; it must not run while the text is
 * made. whole is freed last. */
cd_metrics *cd_metrics_part_new(cd_metrics *whole, const cd_label *label);

/* cd_metrics_counter / _gauge / _hist find or make a metric; it lives as long as the registry.
 * Names and label names are [a-zA-Z_][a-zA-Z0-9_]*, help is one sentence; a name is used for one
 * kind only (anything else is a bug and aborts). */
cd_counter *cd_metrics_counter(cd_metrics *m, const char *name, const char *help, const cd_label *labels, usize cnt);
cd_gauge *cd_metrics_gauge(cd_metrics *m, const char *name, const char *help, const cd_label *labels, usize cnt);

/* The histogram counts values of a unit of the caller's choice (nanoseconds, bytes). bounds are the
 * rising, inclusive upper ends of its buckets (copied, at most 32); the text form divides by `per`
 * to come to the base unit (1e9 for nanoseconds shown as seconds). */
cd_hist *cd_metrics_hist(cd_metrics *m, const char *name, const char *help, const cd_label *labels, usize cnt,
                         const u64 *bounds, usize bounds_cnt, double per);

/* cd_metrics_gauge_fn registers a gauge that is asked when the text is made; fn must be fast,
 * callable from any thread, and must not call the registry. */
void cd_metrics_gauge_fn(cd_metrics *m, const char *name, const char *help, const cd_label *labels, usize cnt,
                         double (*fn)(void *ctx), void *ctx);

/* cd_counter_add / _get: lock-free from any thread. */
CD_INLINE void cd_counter_add(cd_counter *c, u64 n)
{
    atomic_fetch_add_explicit(&c->v, n, memory_order_relaxed);
}

CD_INLINE u64 cd_counter_get(const cd_counter *c)
{
    return atomic_load_explicit(&c->v, memory_order_relaxed);
}

/* cd_gauge_set / _add / _get: as for counters, lock-free from any thread. */
CD_INLINE void cd_gauge_set(cd_gauge *g, i64 v)
{
    atomic_store_explicit(&g->v, v, memory_order_relaxed);
}

CD_INLINE void cd_gauge_add(cd_gauge *g, i64 v)
{
    atomic_fetch_add_explicit(&g->v, v, memory_order_relaxed);
}

CD_INLINE i64 cd_gauge_get(const cd_gauge *g)
{
    return atomic_load_explicit(&g->v, memory_order_relaxed);
}

/* cd_hist_add counts one value. */
void cd_hist_add(cd_hist *h, u64 v);

/* cd_metrics_fmt appends the Prometheus text of all metrics, sorted by name and labels. */
void cd_metrics_fmt(cd_metrics *m, cd_buf *out);

/* Content-Type of that text. */
#define CD_METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

#endif
