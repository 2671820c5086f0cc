/* services/adx/exchange/explain.h - why an auction went as it did, for those who ask within a day.
 *
 * Documents are kept under two names (the auction's and the request's; of a request that came twice, the later),
 * oldest out first when the memory or the time is up. Threading: confined to the loop. [spec:adx#3.4] */
#ifndef CD_ADX_EXCHANGE_EXPLAIN_H
#define CD_ADX_EXCHANGE_EXPLAIN_H

#include "base/bytes.h"

typedef struct cd_explain cd_explain;

/* cd_explain_new keeps at most max bytes, for life_s seconds. */
cd_explain *cd_explain_new(usize max, u64 life_s);
void cd_explain_free(cd_explain *e); /* NULL is allowed */

/* cd_explain_put keeps a copy of doc; one larger than everything together is not kept. */
void cd_explain_put(cd_explain *e, cd_bytes auction, cd_bytes request, cd_bytes doc, u64 now_s);

/* cd_explain_get finds a document by either name, borrowed until the next put; p == NULL when there is none. */
cd_bytes cd_explain_get(cd_explain *e, cd_bytes name, u64 now_s);

/* cd_explain_held: bytes that are kept. */
usize cd_explain_held(const cd_explain *e);

#endif
