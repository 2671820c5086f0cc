/* What a plugin says: every message of the protocol (the first byte chooses), which must be written again without a
 * word about memory, and answers of its routes, plain and as the details of an error. */
#include "plugin/host/tunnel.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    usize cnt;
    const cd_wire_name *names = cd_wire_names(&cnt);
    if (size == 0) {
        return 0;
    }
    cd_bytes in = cd_bytes_of(data + 1, size - 1);
    cd_arena mem = {0};
    cd_buf out = {0};
    const cd_proto_type *type = names[data[0] % cnt].type;
    void *msg = cd_arena_zalloc(&mem, type->size);
    if (cd_proto_parse(msg, type, &mem, in, NULL) == CD_OK) {
        cd_proto_put(&out, type, msg);
        CD_ASSERT(out.n == cd_proto_size(type, msg));
    }
    cd_wire_http_answer a;
    cd_grpc_status st = {.code = data[0] % 3 == 0 ? 0 : 500};
    cd_buf_put(&st.details, in);
    u32 status = cd__tunnel_answer(&a, &mem, &st, in);
    CD_ASSERT(status >= 200 && status < 600);
    cd_grpc_status_fini(&st);
    cd_buf_fini(&out);
    cd_arena_fini(&mem);
    return 0;
}
