/* services/pricing/query.h - names of tokens and currencies in parameters of a URL (net/http/query.h), bounded.
 *
 * Threading: pure. */
#ifndef CD_SERVICES_PRICING_QUERY_H
#define CD_SERVICES_PRICING_QUERY_H

#include "net/http/query.h"

/* cd_query_names takes the names (of tokens or currencies) out of a comma-separated list: without blanks around
 * them, in lower case, sorted by bytes, each once; what is no name is left out. At most max elements are looked
 * at. Errors: CD_ELIMIT. */
cd_err cd_query_names(cd_bytes **out, usize *out_cnt, cd_arena *a, cd_bytes list, usize max) CD_CHECK;

#endif
