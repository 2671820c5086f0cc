/* grpc/out_priv.h - what goes into one write: small pieces copied one behind the other, large ones from where they lie.
 *
 *   copy [frame head][small body]..   lend ─► body      copy [frame head]..   lend ─► body
 *
 * Whoever lends a body that ends before it is written gives it to keep. Threading: confined. */
#ifndef CD_GRPC_OUT_PRIV_H
#define CD_GRPC_OUT_PRIV_H

#include "base/mem/buf.h"
#include "net/loop.h"

/* All zero is valid: nothing is to be written. */
typedef struct cd__grpc_out {
    cd_buf copied;
    struct {
        const u8 *p; /* NULL: the part lies in copied, from at on */
        usize at;
        usize n;
    } parts[CD_TCP_PARTS_MAX];
    u32 parts_cnt;
    struct cd__grpc_kept *kept;
} cd__grpc_out;

/* cd__grpc_out_copy appends a copy of bytes, _lend bytes that stay where they are until written. Not when o is full. */
void cd__grpc_out_copy(cd__grpc_out *o, const u8 *p, usize n);
void cd__grpc_out_lend(cd__grpc_out *o, const u8 *p, usize n);

/* cd__grpc_out_is_full: there is no room for another frame. */
bool cd__grpc_out_is_full(const cd__grpc_out *o);

/* cd__grpc_out_keep takes the memory of b, of which something was lent, until it is written. */
void cd__grpc_out_keep(cd__grpc_out *o, cd_buf *b);

/* cd__grpc_out_write writes everything, and empties o; CD_EAGAIN: when the event `written` has come, call
 * cd__grpc_out_done, which empties o. Errors: those of cd_tcp_write. */
cd_err cd__grpc_out_write(cd__grpc_out *o, cd_tcp *tcp) CD_CHECK;
void cd__grpc_out_done(cd__grpc_out *o);

void cd__grpc_out_fini(cd__grpc_out *o);

#endif
