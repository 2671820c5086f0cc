#include "services/common/rate.h"

#include "base/mem/mem.h"
#include "base/table/lru.h"

typedef struct window {
    u64 second;
    u32 used;
} window;

static void drop_window(void *ctx, void *val)
{
    (void)ctx;
    cd_free(val);
}

struct cd_rate {
    cd_lru *windows; /* of names, padded with zeros */
};

cd_rate *cd_rate_new(usize names_max)
{
    cd_rate *r = cd_new(cd_rate);
    r->windows = cd_lru_new(CD_HASH_KEYED, CD_RATE_NAME_MAX, names_max, drop_window, NULL);
    return r;
}

void cd_rate_free(cd_rate *r)
{
    if (r != NULL) {
        cd_lru_free(r->windows);
        cd_free(r);
    }
}

static window *window_of(cd_rate *r, const char *name)
{
    u8 key[CD_RATE_NAME_MAX] = {0};
    for (usize i = 0; i < sizeof key && name[i] != '\0'; i++) {
        key[i] = (u8)name[i];
    }
    window *w = cd_lru_get(r->windows, key);
    if (w == NULL) {
        w = cd_new(window);
        if (!cd_lru_put(r->windows, key, w, 1)) {
            CD_UNREACHABLE(); /* there is room for one */
        }
    }
    return w;
}

cd_rate_left cd_rate_take(cd_rate *r, const char *name, u32 limit, u64 now_s)
{
    window *w = window_of(r, name);
    if (w->second != now_s) {
        *w = (window){.second = now_s};
    }
    bool is_in = w->used < limit;
    w->used += is_in ? 1 : 0;
    return (cd_rate_left){
        .is_in = is_in,
        .limit = limit,
        .remaining = w->used < limit ? limit - w->used : 0,
        .reset_s = now_s + 1,
    };
}

void cd_rate_put_lines(cd_buf *out, const cd_rate_left *left)
{
    cd_buf_fmt(out, "X-RateLimit-Limit: %u\r\nX-RateLimit-Remaining: %u\r\nX-RateLimit-Reset: %llu\r\n", left->limit,
               left->remaining, (unsigned long long)left->reset_s);
    cd_buf_str(out, left->is_in ? "" : "Retry-After: 1\r\n");
}
