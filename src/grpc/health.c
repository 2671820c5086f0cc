#include "base/mem/arena.h"
#include "codec/proto.h"
#include "grpc/server_priv.h"

/* a status of grpc.health.v1 */
enum { SERVING = 1 };

typedef struct check_request {
    cd_bytes service;
} check_request;

typedef struct check_response {
    u32 status;
} check_response;

static const cd_proto_field request_fields[] = {
    CD_PROTO_FIELD(1, STRING, check_request, service),
};
static const cd_proto_type request_type = CD_PROTO_TYPE(check_request, request_fields, "HealthCheckRequest");

static const cd_proto_field response_fields[] = {
    CD_PROTO_FIELD(1, ENUM, check_response, status),
};
static const cd_proto_type response_type = CD_PROTO_TYPE(check_response, response_fields, "HealthCheckResponse");

static void check(void *ctx, cd_grpc_call *call)
{
    const cd_grpc_server *s = ctx;
    const check_response serving = {.status = SERVING};
    check_request req = {0};
    cd_arena mem = {0};
    cd_errinfo why = {0};
    cd_buf out = {0};
    if (cd_proto_parse(&req, &request_type, &mem, cd_grpc_call_msg(call), &why) != CD_OK) {
        cd_grpc_fail(call, CD_GRPC_INTERNAL, cd_bytes_str(why.msg), (cd_bytes){0});
    } else if (req.service.n != 0 && !cd__grpc_server_has_service(s, req.service)) {
        cd_grpc_fail(call, CD_GRPC_NOT_FOUND, cd_bytes_str("unknown service"), (cd_bytes){0});
    } else {
        cd_proto_put(&out, &response_type, &serving);
        cd_grpc_reply(call, &out);
    }
    cd_arena_fini(&mem);
}

const cd_grpc_method cd__grpc_health = {"/grpc.health.v1.Health/Check", check};
