/* services/webhook/core/send/verify.h - judges a recorded request, as a receiver would: for the command `verify`.
 *
 * The request is what came over the wire, head and body; lines may end in LF alone. What is checked with is the header
 * that receivers use (services/webhook/receiver), so the command shows what they will see.
 * Threading: pure. [spec:webhooks#4] */
#ifndef CD_WEBHOOK_CORE_VERIFY_H
#define CD_WEBHOOK_CORE_VERIFY_H

#include "services/webhook/core/model.h"

/* Whose signature a receiver checks. */
typedef enum cd_wh_scheme { CD_WH_SCHEME_B, CD_WH_SCHEME_C, CD_WH_SCHEME_STANDARD } cd_wh_scheme;

/* cd_wh_verify judges a request. CD_OK: genuine. Errors, with words in why: CD_EFORMAT (no request, headers missing or
 * malformed), CD_ERANGE (timestamp out of tolerance), CD_ESIG. */
cd_err cd_wh_verify(cd_wh_scheme scheme, const char *brand, const char *secret, cd_bytes request, u64 now_s,
                    cd_errinfo *why) CD_CHECK;

#endif
