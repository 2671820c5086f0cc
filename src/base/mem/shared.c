#include "base/mem/shared.h"

#include "base/mem/mem.h"

#include <stdatomic.h>

struct cd_shared {
    atomic_uint refs;
    cd_buf bytes;
};

cd_shared *cd_shared_take(cd_buf *b)
{
    cd_shared *s = cd_new(cd_shared);
    atomic_init(&s->refs, 1);
    s->bytes = *b;
    *b = (cd_buf){0};
    if (s->bytes.cap - s->bytes.n > s->bytes.n / 8) {
        s->bytes.p = cd_realloc(s->bytes.p, s->bytes.n);
        s->bytes.cap = s->bytes.n;
    }
    return s;
}

cd_shared *cd_shared_ref(cd_shared *s)
{
    (void)atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void cd_shared_unref(cd_shared *s)
{
    if (s != NULL && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
        cd_buf_fini(&s->bytes);
        cd_free(s);
    }
}

cd_bytes cd_shared_bytes(const cd_shared *s)
{
    return cd_buf_bytes(&s->bytes);
}

bool cd_splices_add(cd_splices *l, const cd_buf *buf, cd_shared *s)
{
    if (l->cnt == CD_SPLICES_MAX) {
        return false;
    }
    l->items[l->cnt].at = buf->n;
    l->items[l->cnt].s = s;
    l->cnt++;
    return true;
}

usize cd_splices_size(const cd_splices *l, u32 from)
{
    usize n = 0;
    for (u32 i = from; i < l->cnt; i++) {
        n += cd_shared_bytes(l->items[i].s).n;
    }
    return n;
}

void cd_splices_cut(cd_splices *l, u32 cnt)
{
    while (l->cnt > cnt) {
        cd_shared_unref(l->items[--l->cnt].s);
    }
}

u32 cd_splices_pieces(const cd_splices *l, cd_bytes out[CD_SPLICE_PIECES_MAX], const cd_buf *buf)
{
    u32 cnt = 0;
    usize at = 0;
    for (u32 i = 0; i < l->cnt; i++) {
        CD_ASSERT(l->items[i].at >= at && l->items[i].at <= buf->n);
        if (l->items[i].at != at) {
            out[cnt++] = cd_bytes_of(buf->p + at, l->items[i].at - at);
            at = l->items[i].at;
        }
        out[cnt++] = cd_shared_bytes(l->items[i].s);
    }
    if (at != buf->n) {
        out[cnt++] = cd_bytes_of(buf->p + at, buf->n - at);
    }
    return cnt;
}

void cd_splices_flatten(cd_splices *l, cd_buf *buf)
{
    cd_bytes pieces[CD_SPLICE_PIECES_MAX];
    cd_buf whole = {0};
    if (l->cnt == 0) {
        return;
    }
    u32 cnt = cd_splices_pieces(l, pieces, buf);
    (void)cd_buf_reserve(&whole, buf->n + cd_splices_size(l, 0));
    for (u32 i = 0; i < cnt; i++) {
        cd_buf_put(&whole, pieces[i]);
    }
    cd_splices_cut(l, 0);
    cd_buf_fini(buf);
    *buf = whole;
}
