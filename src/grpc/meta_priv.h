/* grpc/meta_priv.h - header fields kept one behind the other in a buffer, and those of a status.
 *
 *   [place][name length u32][value length u32][name][value] ...
 *
 * Threading: confined. */
#ifndef CD_GRPC_META_PRIV_H
#define CD_GRPC_META_PRIV_H

#include "grpc/conn_priv.h"

enum { CD__GRPC_STATUS_FIELDS = 3 };

/* cd__grpc_meta_put appends a field; place: the writer's own mark. */
void cd__grpc_meta_put(cd_buf *meta, u8 place, cd_bytes name, cd_bytes value);

/* cd__grpc_meta_next gives one field after the other: start with *at = 0; false: there are no more. *out is borrowed
 * until the next put. */
bool cd__grpc_meta_next(const cd_buf *meta, usize *at, u8 *place, cd__grpc_field *out);

/* cd__grpc_status_fields writes the fields that tell st and gives their number; their texts lie in text, which must be
 * empty before. */
usize cd__grpc_status_fields(cd__grpc_field out[CD__GRPC_STATUS_FIELDS], cd_buf *text, const cd_grpc_status *st);

/* cd__grpc_status_field takes a field of a status into st; false when the field is no such field. *has_code is set when
 * it was the code; a malformed code is UNKNOWN. */
bool cd__grpc_status_field(cd_grpc_status *st, bool *has_code, cd_bytes name, cd_bytes value);

#endif
