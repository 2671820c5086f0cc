/* node/api/tokens.h - who may call: tokens that a password gives, each for some endpoints.
 *
 *   password ──► newToken ──► JWT (HS256): jti, exp, endpoints ──► Authorization: Bearer … ──► admitted, or why not
 *
 * Tokens are signed with a key of this process: a restart, or another password, ends them all. A token says by which
 * ends of paths it may go ("/v1/info", "*": everywhere). Words are the original's. At most CD_TOKENS_REVOKED_MAX
 * tokens are revoked at a time; wrong passwords are slowed down. Threading: confined. [spec:node-api#9] */
#ifndef CD_NODE_API_TOKENS_H
#define CD_NODE_API_TOKENS_H

#include "base/mem/buf.h"
#include "base/os/clock.h"

enum { CD_TOKENS_REVOKED_MAX = 4096, CD_TOKENS_ENDPOINTS_MAX = 128, CD_TOKENS_PASSWORD_MIN = 8 };

typedef struct cd_tokens cd_tokens;

/* cd_tokens_new knows a password. cd_tokens_free: NULL is allowed. Errors: CD_EINVAL when it is too weak. */
cd_err cd_tokens_new(cd_tokens **out, cd_bytes password, const cd_clock *clock, cd_errinfo *why) CD_CHECK;
void cd_tokens_free(cd_tokens *t);

/* cd_tokens_make appends a token for endpoints, good for twelve hours. cd_tokens_revoke ends one before its time,
 * cd_tokens_change gives another password. Errors: CD_EACCES, CD_EINVAL, CD_ELIMIT. */
cd_err cd_tokens_make(cd_tokens *t, cd_buf *out, cd_bytes password, const cd_bytes *endpoints, usize cnt,
                      cd_errinfo *why) CD_CHECK;
cd_err cd_tokens_revoke(cd_tokens *t, cd_bytes password, cd_bytes token, cd_errinfo *why) CD_CHECK;
cd_err cd_tokens_change(cd_tokens *t, cd_bytes old_password, cd_bytes new_password, cd_errinfo *why) CD_CHECK;

/* cd_tokens_admit: may a request with that header Authorization (p NULL: none) go to path? Errors: CD_EACCES with the
 * reason. */
cd_err cd_tokens_admit(cd_tokens *t, cd_bytes authorization, cd_bytes path, cd_errinfo *why) CD_CHECK;

#endif
