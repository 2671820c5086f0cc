/* Messages of peers from arbitrary bytes: what is read is written, and read again to the same bytes; memory stays a
 * small multiple of what came, and of what that decompresses to. */
#include "base/mem/mem.h"
#include "p2p/message.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    static cd_zstd *z;
    cd_arena a = {0};
    cd_buf once = {0};
    cd_buf twice = {0};
    cd_p2p_msg m;
    usize unpacked;
    if (z == NULL) {
        z = cd_zstd_new(CD_P2P_FRAME_MAX);
    }
    if (size <= CD_P2P_FRAME_MAX && cd_p2p_msg_parse(&m, &unpacked, &a, z, cd_bytes_of(data, size), NULL) == CD_OK) {
        cd_p2p_msg back;
        CD_ASSERT(cd_p2p_op_name(m.op) != NULL && unpacked <= CD_P2P_FRAME_MAX);
        cd_p2p_msg_put(&once, z, &m);
        CD_ASSERT(cd_p2p_msg_parse(&back, &unpacked, &a, z, cd_buf_bytes(&once), NULL) == CD_OK && back.op == m.op);
        cd_buf_clear(&once);
        cd_p2p_msg_put(&once, NULL, &m);
        cd_p2p_msg_put(&twice, NULL, &back);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&once), cd_buf_bytes(&twice)));
    }
    cd_buf_fini(&twice);
    cd_buf_fini(&once);
    cd_arena_fini(&a);
    return 0;
}
