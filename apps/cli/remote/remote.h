/* apps/cli/remote/remote.h - a node that is asked over HTTP, one question at a time.
 *
 * Paths and names of services are those that both families of networks take (/ext/bc/X, avm.getUTXOs). Threading: the
 * main thread. */
#ifndef CD_APPS_CLI_REMOTE_H
#define CD_APPS_CLI_REMOTE_H

#include "base/mem/arena.h"
#include "codec/json.h"

typedef struct cd__remote cd__remote;

/* cd__remote_new speaks to the node at url ("http://127.0.0.1:9650"); answers lie in mem. Errors: CD_EINVAL
 * (no URL), those of the loop and the client. */
cd_err cd__remote_new(cd__remote **out, cd_arena *mem, const char *url, cd_errinfo *why) CD_CHECK;
void cd__remote_free(cd__remote *r); /* NULL is allowed */

/* cd__remote_ask calls a method at a path ("/ext/info"); params is JSON. Errors: CD_EIO (nobody answers), CD_EPROTO (no
 * answer of such a service), CD_EACCES with the words of the node. */
cd_err cd__remote_ask(cd__remote *r, cd_json *result, const char *path, const char *method, const char *params,
                      cd_errinfo *why) CD_CHECK;

/* cd__remote_patience sets how long an answer may take; a minute without it. */
void cd__remote_patience(cd__remote *r, u32 ms);

/* cd__remote_pause waits a little before the next question. */
void cd__remote_pause(cd__remote *r, u32 ms);

#endif
