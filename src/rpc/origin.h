/* rpc/origin.h - what web pages of strangers may not do, and the log's word about it.
 *
 * A browser sends the origin of the page with a request; http servers and sessions carry it along when it is a
 * stranger's (net/http/access.h). Such a page may read and send what somebody has signed. Methods that act without a
 * signature say so in their row (method.h), and are refused here and nowhere else. Threading: shared.
 * [spec:decisions#D50] */
#ifndef CD_RPC_ORIGIN_H
#define CD_RPC_ORIGIN_H

#include "base/log/log.h"
#include "rpc/method.h"

/* Which origins the log has spoken of. */
typedef struct cd_rpc_origins cd_rpc_origins;

/* cd_rpc_origins_new begins with none; cd_rpc_origins_free ends it. log may be NULL: then nobody is told. */
cd_rpc_origins *cd_rpc_origins_new(cd_logger *log);
void cd_rpc_origins_free(cd_rpc_origins *o);

/* cd_rpc_origin_check refuses a call that is not for the page that asks; the log says so once for each origin, and of a
 * hundred of them. o: NULL: nobody logs. */
cd_err cd_rpc_origin_check(cd_rpc_call *call, cd_rpc_origins *o) CD_CHECK;

#endif
