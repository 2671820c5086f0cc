#include "grpc/out_priv.h"

#include "base/mem/mem.h"

enum { PARTS_PER_FRAME = 3 };

/* A body that has no other owner while parts of it are lent. */
typedef struct cd__grpc_kept {
    struct cd__grpc_kept *next;
    cd_buf b;
} cd__grpc_kept;

void cd__grpc_out_copy(cd__grpc_out *o, const u8 *p, usize n)
{
    bool goes_on = o->parts_cnt != 0 && o->parts[o->parts_cnt - 1].p == NULL;
    if (!goes_on) {
        CD_ASSERT(o->parts_cnt < CD_TCP_PARTS_MAX);
        o->parts[o->parts_cnt].p = NULL;
        o->parts[o->parts_cnt].at = o->copied.n;
        o->parts[o->parts_cnt++].n = 0;
    }
    o->parts[o->parts_cnt - 1].n += n;
    cd_buf_put(&o->copied, cd_bytes_of(p, n));
}

void cd__grpc_out_lend(cd__grpc_out *o, const u8 *p, usize n)
{
    CD_ASSERT(o->parts_cnt < CD_TCP_PARTS_MAX);
    o->parts[o->parts_cnt].p = p;
    o->parts[o->parts_cnt++].n = n;
}

bool cd__grpc_out_is_full(const cd__grpc_out *o)
{
    return o->parts_cnt + PARTS_PER_FRAME > CD_TCP_PARTS_MAX;
}

void cd__grpc_out_keep(cd__grpc_out *o, cd_buf *b)
{
    cd__grpc_kept *k = cd_new(cd__grpc_kept);
    *k = (cd__grpc_kept){.next = o->kept, .b = *b};
    o->kept = k;
    *b = (cd_buf){0};
}

cd_err cd__grpc_out_write(cd__grpc_out *o, cd_tcp *tcp)
{
    cd_bytes parts[CD_TCP_PARTS_MAX];
    for (u32 i = 0; i < o->parts_cnt; i++) {
        const u8 *p = o->parts[i].p;
        parts[i] = cd_bytes_of(p != NULL ? p : o->copied.p + o->parts[i].at, o->parts[i].n);
    }
    cd_err err = cd_tcp_write(tcp, parts, o->parts_cnt);
    if (err != CD_EAGAIN) {
        cd__grpc_out_done(o);
    }
    return err;
}

void cd__grpc_out_done(cd__grpc_out *o)
{
    o->parts_cnt = 0;
    cd_buf_clear(&o->copied);
    while (o->kept != NULL) {
        cd__grpc_kept *k = o->kept;
        o->kept = k->next;
        cd_buf_fini(&k->b);
        cd_free(k);
    }
}

void cd__grpc_out_fini(cd__grpc_out *o)
{
    cd__grpc_out_done(o);
    cd_buf_fini(&o->copied);
}
