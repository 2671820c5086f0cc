/* grpc/status.h - how a call of gRPC ended, and the texts of its protocol. [spec:grpc#2]
 *
 * Threading: pure. */
#ifndef CD_GRPC_STATUS_H
#define CD_GRPC_STATUS_H

#include "base/mem/buf.h"

/* The codes everybody knows; others travel as they are. */
typedef enum cd_grpc_code {
    CD_GRPC_OK = 0,
    CD_GRPC_CANCELLED = 1,
    CD_GRPC_UNKNOWN = 2,
    CD_GRPC_INVALID_ARGUMENT = 3,
    CD_GRPC_DEADLINE_EXCEEDED = 4,
    CD_GRPC_NOT_FOUND = 5,
    CD_GRPC_ALREADY_EXISTS = 6,
    CD_GRPC_PERMISSION_DENIED = 7,
    CD_GRPC_RESOURCE_EXHAUSTED = 8,
    CD_GRPC_FAILED_PRECONDITION = 9,
    CD_GRPC_ABORTED = 10,
    CD_GRPC_OUT_OF_RANGE = 11,
    CD_GRPC_UNIMPLEMENTED = 12,
    CD_GRPC_INTERNAL = 13,
    CD_GRPC_UNAVAILABLE = 14,
    CD_GRPC_DATA_LOSS = 15,
    CD_GRPC_UNAUTHENTICATED = 16,
} cd_grpc_code;

/* What a call ended with; all zero: all is well. */
typedef struct cd_grpc_status {
    u32 code;       /* a cd_grpc_code, or any other number */
    cd_buf message; /* text for humans */
    cd_buf details; /* a google.rpc.Status as it travels in grpc-status-details-bin; empty: none */
} cd_grpc_status;

/* cd_grpc_status_fini gives back what st holds; st is OK then, and usable again. */
void cd_grpc_status_fini(cd_grpc_status *st);

/* cd_grpc_status_set replaces code and text of st. */
void cd_grpc_status_set(cd_grpc_status *st, u32 code, cd_bytes message);

/* cd_grpc_status_err tells st as an error of ours, with its text in *why: CD_ECLOSED for CANCELLED and UNAVAILABLE,
 * CD_ETIMEOUT, CD_EUNSUPPORTED, CD_EFULL (RESOURCE_EXHAUSTED), CD_ENOENT, CD_EINVAL, CD_EACCES, else CD_EIO. */
cd_err cd_grpc_status_err(const cd_grpc_status *st, cd_errinfo *why);

/* cd_grpc_percent_put appends text as grpc-message has it, cd_grpc_percent_dec appends what such a text says; what is
 * no percent code stays. */
void cd_grpc_percent_put(cd_buf *out, cd_bytes text);
void cd_grpc_percent_dec(cd_buf *out, cd_bytes text);

/* A time of grpc-timeout: at most eight digits and a unit. _fmt rounds up to whole milliseconds, seconds or hours.
 * Errors of _parse: CD_EFORMAT. */
enum { CD_GRPC_TIMEOUT_MAX = 11 }; /* bytes of its text, the NUL included */
usize cd_grpc_timeout_fmt(char out[CD_GRPC_TIMEOUT_MAX], u64 ms);
cd_err cd_grpc_timeout_parse(u64 *ms, cd_bytes text) CD_CHECK;

#endif
