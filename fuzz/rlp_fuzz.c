/* The RLP reader on arbitrary bytes. What cd_rlp_check accepts must read and write back to the same
 * bytes, and typed reads of anything must stay inside the input. */
#include "codec/rlp.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

/* Writes what it reads, without recursion: `open` holds the lists being written. */
static bool copy(cd_buf *out, cd_bytes in)
{
    struct {
        cd_rlp r;
        usize at;
    } open[CD_RLP_DEPTH_MAX + 1];
    usize depth = 0;
    open[0].r = cd_rlp_init(in);
    for (;;) {
        if (!cd_rlp_more(&open[depth].r)) {
            if (depth == 0) {
                return open[0].r.err == CD_OK;
            }
            cd_rlp_close(out, open[depth].at);
            cd_rlp_leave(&open[depth - 1].r, &open[depth].r);
            depth--;
            continue;
        }
        cd_rlp_item it = cd_rlp_next(&open[depth].r);
        if (open[depth].r.err != CD_OK) {
            return false;
        }
        if (!it.is_list) {
            cd_rlp_put_str(out, it.body);
            continue;
        }
        if (depth == CD_RLP_DEPTH_MAX) {
            return false;
        }
        depth++;
        open[depth].r = cd_rlp_init(it.body);
        open[depth].at = cd_rlp_begin(out);
    }
}

static void typed_reads(cd_bytes in)
{
    u8 fixed[32];
    for (u8 pick = 0; pick < 5; pick++) {
        cd_rlp r = cd_rlp_init(in);
        while (cd_rlp_more(&r)) {
            switch (pick) {
            case 0:
                (void)cd_rlp_u64(&r);
                break;
            case 1:
                (void)cd_rlp_u256(&r);
                break;
            case 2:
                cd_rlp_fixed(&r, fixed, sizeof fixed);
                break;
            case 3:
                (void)cd_rlp_str(&r);
                break;
            default: {
                cd_rlp list = cd_rlp_list(&r);
                (void)cd_rlp_count(&list);
                cd_rlp_leave(&r, &list);
                break;
            }
            }
        }
        (void)!cd_rlp_end(&r);
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_bytes in = cd_bytes_of(data, size);
    cd_buf out = {0};
    cd_err e = cd_rlp_check(in);
    bool copied = copy(&out, in);
    if (e == CD_OK) {
        CD_ASSERT(copied && cd_bytes_eq(cd_buf_bytes(&out), in));
    }
    typed_reads(in);
    cd_buf_fini(&out);
    return 0;
}
