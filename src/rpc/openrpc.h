/* rpc/openrpc.h - the OpenRPC document of a service, made of the rows of its table.
 *
 * Schemas of methods are written in a short form:
 *
 *   schema  params "->" type          "address: Address, block?: BlockRef -> Quantity"
 *   params  name: type, name?: type   ? marks what may be left out; a name of * stands for any other member
 *   type    Name                      of types.def or of the service's own types
 *           {params}                  an object
 *           "text"                    this text
 *           type[]   type?            an array; or null
 *           a | b    (type)           one of several
 *
 * Threading: pure. [OpenRPC 1.3.2] */
#ifndef CD_RPC_OPENRPC_H
#define CD_RPC_OPENRPC_H

#include "rpc/jsonrpc.h"

/* A named type of a service: its schema is a type of the short form, or a JSON schema when it begins with {". */
typedef struct cd_rpc_type {
    const char *name;
    const char *schema;
} cd_rpc_type;

/* What an OpenRPC document says of the whole. */
typedef struct cd_rpc_info {
    const char *title;
    const char *version;
    const cd_rpc_type *types;
    usize types_cnt;
} cd_rpc_info;

/* cd_rpc_openrpc appends the document. Errors: CD_EFORMAT with the method whose schema is wrong, or does not fit its
 * row. */
cd_err cd_rpc_openrpc(cd_buf *out, const cd_rpc_service *s, const cd_rpc_info *info, cd_errinfo *why) CD_CHECK;

/* cd_rpc_table_add_own adds rpc_modules and rpc_discover. */
void cd_rpc_table_add_own(cd_rpc_table *t);

#endif
