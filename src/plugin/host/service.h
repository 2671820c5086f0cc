/* plugin/host/service.h - what the node serves to one plugin, as rows: a method's path, and who answers it.
 *
 *   message ──► serve ──► answer in out, or an error        nothing here knows how either travels
 *
 * Threading: rows are frozen; serve is called on the plugin's own loop, one call at a time. [spec:plugin#5] */
#ifndef CD_PLUGIN_HOST_SERVICE_H
#define CD_PLUGIN_HOST_SERVICE_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"

/* A method that a plugin may call. serve appends the answer to out; mem is for the call alone. An error's text goes to
 * the plugin as it is. */
typedef struct cd_plugin_method {
    const char *path; /* "/rpcdb.Database/Get" */
    cd_err (*serve)(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why);
} cd_plugin_method;

#endif
