/* Metrics as the protocol has them (io.prometheus.client), from the text that the registry writes. */
#include "plugin/guest/guest_priv.h"

#include <stdlib.h>

/* Kinds of families, as io.prometheus.client numbers them. */
enum { COUNTER = 0, GAUGE = 1, UNTYPED = 3, HISTOGRAM = 4 };

typedef struct label {
    cd_bytes name;
    cd_bytes value;
} label;

typedef struct number {
    u64 value; /* the bits of a double */
} number;

typedef struct bucket {
    u64 cumulative_count;
    u64 upper_bound; /* the bits of a double */
} bucket;

typedef struct histogram {
    u64 sample_count;
    u64 sample_sum; /* the bits of a double */
    cd_proto_list bucket;
} histogram;

typedef struct metric {
    cd_proto_list label;
    number *gauge;
    number *counter;
    number *untyped;
    histogram *histogram;
} metric;

typedef struct family {
    cd_bytes name;
    cd_bytes help;
    u32 type;
    cd_proto_list metric;
} family;

typedef struct response {
    cd_proto_list metric_families;
} response;

static const cd_proto_field label_fields[] = {
    CD_PROTO_FIELD(1, STRING, label, name),
    CD_PROTO_FIELD(2, STRING, label, value),
};
static const cd_proto_type label_type = CD_PROTO_TYPE(label, label_fields, "LabelPair");

static const cd_proto_field number_fields[] = {
    CD_PROTO_FIELD(1, F64, number, value),
};
static const cd_proto_type number_type = CD_PROTO_TYPE(number, number_fields, "Gauge");

static const cd_proto_field bucket_fields[] = {
    CD_PROTO_FIELD(1, U64, bucket, cumulative_count),
    CD_PROTO_FIELD(2, F64, bucket, upper_bound),
};
static const cd_proto_type bucket_type = CD_PROTO_TYPE(bucket, bucket_fields, "Bucket");

static const cd_proto_field histogram_fields[] = {
    CD_PROTO_FIELD(1, U64, histogram, sample_count),
    CD_PROTO_FIELD(2, F64, histogram, sample_sum),
    CD_PROTO_FIELD(3, MSG, histogram, bucket, .is_repeated = true, .of = &bucket_type),
};
static const cd_proto_type histogram_type = CD_PROTO_TYPE(histogram, histogram_fields, "Histogram");

static const cd_proto_field metric_fields[] = {
    CD_PROTO_FIELD(1, MSG, metric, label, .is_repeated = true, .of = &label_type),
    CD_PROTO_FIELD(2, MSG, metric, gauge, .of = &number_type),
    CD_PROTO_FIELD(3, MSG, metric, counter, .of = &number_type),
    CD_PROTO_FIELD(5, MSG, metric, untyped, .of = &number_type),
    CD_PROTO_FIELD(7, MSG, metric, histogram, .of = &histogram_type),
};
static const cd_proto_type metric_type = CD_PROTO_TYPE(metric, metric_fields, "Metric");

static const cd_proto_field family_fields[] = {
    CD_PROTO_FIELD(1, STRING, family, name),
    CD_PROTO_FIELD(2, STRING, family, help),
    CD_PROTO_FIELD(3, ENUM, family, type),
    CD_PROTO_FIELD(4, MSG, family, metric, .is_repeated = true, .of = &metric_type),
};
static const cd_proto_type family_type = CD_PROTO_TYPE(family, family_fields, "MetricFamily");

static const cd_proto_field response_fields[] = {
    CD_PROTO_FIELD(1, MSG, response, metric_families, .is_repeated = true, .of = &family_type),
};
static const cd_proto_type response_type = CD_PROTO_TYPE(response, response_fields, "GatherResponse");

/* A reader of the text, and the family it is at. */
typedef struct reader {
    cd_arena *mem;
    cd_buf *out;
    family at;
    metric hist; /* the histogram whose lines are being read */
} reader;

/* --- words --- */

static bool starts(cd_bytes b, const char *with)
{
    usize n = strlen(with);
    return b.n >= n && memcmp(b.p, with, n) == 0;
}

static bool ends(cd_bytes b, const char *with)
{
    usize n = strlen(with);
    return b.n >= n && memcmp(b.p + b.n - n, with, n) == 0;
}

/* Takes the part of b in front of the first stop, and stop, off b; all of b when there is no stop. */
static cd_bytes word(cd_bytes *b, u8 stop)
{
    const u8 *at = b->n == 0 ? NULL : memchr(b->p, stop, b->n);
    usize n = at == NULL ? b->n : (usize)(at - b->p);
    cd_bytes w = cd_bytes_sub(*b, 0, n);
    *b = at == NULL ? (cd_bytes){0} : cd_bytes_sub(*b, n + 1, b->n - n - 1);
    return w;
}

/* Takes a quoted value off b, which begins behind the first quote; escapes are resolved. */
static cd_bytes quoted(reader *r, cd_bytes *b)
{
    u8 *to = cd_arena_alloc(r->mem, b->n + 1);
    usize n = 0;
    usize i = 0;
    for (; i < b->n && b->p[i] != '"'; i++) {
        u8 c = b->p[i];
        if (c == '\\' && i + 1 < b->n) {
            c = b->p[++i];
            c = c == 'n' ? '\n' : c;
        }
        to[n++] = c;
    }
    i = i < b->n ? i + 1 : i;
    *b = cd_bytes_sub(*b, i, b->n - i);
    return cd_bytes_of(to, n);
}

static u64 bits_of(double v)
{
    u64 bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Reads a value of the registry: a number, "+Inf", "-Inf" or "NaN". */
static double number_of(const reader *r, cd_bytes text)
{
    return strtod(cd_arena_str(r->mem, text), NULL);
}

/* --- lists that grow in an arena --- */

static void *list_add(const reader *r, cd_proto_list *l, usize size)
{
    if (l->cnt == l->cap) {
        u32 cap = l->cap == 0 ? 4 : l->cap * 2;
        void *v = cd_arena_zalloc(r->mem, cap * size);
        if (l->cnt != 0) {
            memcpy(v, l->v, l->cnt * size);
        }
        l->v = v;
        l->cap = cap;
    }
    return (u8 *)l->v + size * l->cnt++;
}

/* --- lines --- */

/* Appends a family that is complete; the message is nothing but families, one field each. */
static void family_end(reader *r)
{
    if (r->at.metric.cnt != 0) {
        const response one = {.metric_families = {.v = &r->at, .cnt = 1}};
        cd_proto_put(r->out, &response_type, &one);
    }
    r->at = (family){0};
    r->hist = (metric){0};
}

static u32 kind_of(cd_bytes name)
{
    static const struct {
        const char *name;
        u32 kind;
    } kinds[] = {{"counter", COUNTER}, {"gauge", GAUGE}, {"histogram", HISTOGRAM}};
    for (usize i = 0; i < CD_COUNT(kinds); i++) {
        if (cd_bytes_eq(name, cd_bytes_str(kinds[i].name))) {
            return kinds[i].kind;
        }
    }
    return UNTYPED;
}

/* "# HELP name text" begins a family, "# TYPE name kind" says what it is. */
static void comment(reader *r, cd_bytes line)
{
    cd_bytes rest = line;
    (void)word(&rest, ' ');
    cd_bytes what = word(&rest, ' ');
    cd_bytes name = word(&rest, ' ');
    if (cd_bytes_eq(what, cd_bytes_str("HELP"))) {
        family_end(r);
        r->at.name = name;
        r->at.help = rest;
    } else if (cd_bytes_eq(what, cd_bytes_str("TYPE"))) {
        r->at.type = kind_of(rest);
    }
}

/* Reads labels up to the closing brace; "le" of a bucket goes to *le and not among them. */
static void labels(reader *r, cd_proto_list *out, cd_bytes *le, cd_bytes *rest)
{
    while (rest->n != 0 && rest->p[0] != '}') {
        cd_bytes name = word(rest, '=');
        (void)word(rest, '"');
        cd_bytes value = quoted(r, rest);
        if (rest->n != 0 && rest->p[0] == ',') {
            (void)word(rest, ',');
        }
        if (cd_bytes_eq(name, cd_bytes_str("le"))) {
            *le = value;
        } else {
            *(label *)list_add(r, out, sizeof(label)) = (label){name, value};
        }
    }
    (void)word(rest, '}');
}

static void hist_line(reader *r, cd_bytes name, const cd_proto_list *of, cd_bytes le, cd_bytes value)
{
    if (r->hist.histogram == NULL) {
        r->hist = (metric){.label = *of, .histogram = cd_arena_new(r->mem, histogram)};
    }
    histogram *h = r->hist.histogram;
    if (ends(name, "_bucket")) {
        bucket *b = list_add(r, &h->bucket, sizeof *b);
        *b = (bucket){(u64)number_of(r, value), bits_of(number_of(r, le))};
    } else if (ends(name, "_sum")) {
        h->sample_sum = bits_of(number_of(r, value));
    } else {
        h->sample_count = (u64)number_of(r, value);
        *(metric *)list_add(r, &r->at.metric, sizeof(metric)) = r->hist;
        r->hist = (metric){0};
    }
}

static void sample(reader *r, cd_bytes line)
{
    usize n = 0;
    while (n < line.n && line.p[n] != '{' && line.p[n] != ' ') {
        n++;
    }
    cd_bytes name = cd_bytes_sub(line, 0, n);
    cd_bytes rest = cd_bytes_sub(line, n, line.n - n);
    cd_bytes le = {0};
    metric m = {0};
    if (rest.n != 0 && rest.p[0] == '{') {
        rest = cd_bytes_sub(rest, 1, rest.n - 1);
        labels(r, &m.label, &le, &rest);
    }
    (void)word(&rest, ' ');
    if (r->at.type == HISTOGRAM) {
        hist_line(r, name, &m.label, le, rest);
        return;
    }
    number *v = cd_arena_new(r->mem, number);
    v->value = bits_of(number_of(r, rest));
    m.counter = r->at.type == COUNTER ? v : NULL;
    m.gauge = r->at.type == GAUGE ? v : NULL;
    m.untyped = r->at.type == UNTYPED ? v : NULL;
    *(metric *)list_add(r, &r->at.metric, sizeof m) = m;
}

void cd__gather_put(cd_buf *out, cd_bytes text)
{
    cd_arena mem = {0};
    reader r = {.mem = &mem, .out = out};
    while (text.n != 0) {
        cd_bytes line = word(&text, '\n');
        if (starts(line, "# ")) {
            comment(&r, line);
        } else if (line.n != 0) {
            sample(&r, line);
        }
    }
    family_end(&r);
    cd_arena_fini(&mem);
}
