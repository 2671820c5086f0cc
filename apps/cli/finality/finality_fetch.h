/* apps/cli/finality/finality_fetch.h - certificates and set changes from a node that is not trusted. Threading: the
 * main thread. */
#ifndef CD_APPS_CLI_FINALITY_FETCH_H
#define CD_APPS_CLI_FINALITY_FETCH_H

#include "base/mem/arena.h"
#include "finality/cert/cert.h"

/* What a node is asked for: "C/1204881", "C/" and the ID of a block as CB58 or as 0x and digits. */
typedef struct cd__fin_query {
    const char *chain;
    const char *height; /* NULL: block is asked for */
    cd_hash32 block;
} cd__fin_query;

/* cd__fin_query_parse says whether a word is such a question; what it gives lies in mem. */
bool cd__fin_query_parse(cd__fin_query *out, cd_arena *mem, const char *word);

/* cd__fin_fetch asks for the certificate, and for the set changes since an epoch; both lie in mem. Errors: those of
 * cd__remote_ask, CD_EPROTO. */
cd_err cd__fin_fetch(cd_bytes *cert, cd_bytes *changes, cd_arena *mem, const char *url, const cd__fin_query *q,
                     u64 epoch, cd_errinfo *why) CD_CHECK;

#endif
