/* services/adx/exchange/token.h - what a beacon's address carries: what is to be paid, to whom and by whom, signed.
 *
 *   version │ payer kind │ expiry │ price │ lease │ auction │ imp │ payer │ publisher │ miner │ HMAC-SHA-256, 16 bytes
 *
 * as base64url without padding. Only this exchange makes tokens; whoever has one can make it count once.
 * Threading: pure; a key is frozen. [spec:adx#4.3] */
#ifndef CD_ADX_EXCHANGE_TOKEN_H
#define CD_ADX_EXCHANGE_TOKEN_H

#include "base/mem/buf.h"
#include "crypto/hash/hmac.h"
#include "services/adx/ledger/ledger.h"

enum { CD_TOKEN_ID_MAX = CD_LEDGER_ID_MAX, CD_TOKEN_KEY_LEN = 32, CD_TOKEN_TEXT_MAX = 512 };

/* What a signed notice carries: who pays whom, how much, until when (expires_s, seconds since 1970). */
typedef struct cd_token {
    bool is_campaign;
    u32 expires_s;
    i64 price; /* nano-USD */
    i64 lease;
    u8 auction[16];
    u8 place; /* of the winner in its auction */
    char payer[CD_TOKEN_ID_MAX + 1], publisher[CD_TOKEN_ID_MAX + 1], miner[CD_TOKEN_ID_MAX + 1];
} cd_token;

/* cd_token_put appends the text of a token. */
void cd_token_put(cd_buf *out, const cd_hmac_sha256_key *key, const cd_token *t);

/* cd_token_read reads and checks one. Errors: CD_EFORMAT; CD_ESIG when we have not made it. */
cd_err cd_token_read(cd_token *out, const cd_hmac_sha256_key *key, cd_bytes text) CD_CHECK;

/* cd_token_name gives what the ledger knows it by. */
void cd_token_name(u8 out[CD_LEDGER_TOKEN_LEN], const cd_token *t);

/* What the address of a miner's media carries: which impression it is played for, by which miner, and how large it is.
 * A miner reports by it, and cannot make anything of it that is paid: that takes the player's beacon. */
typedef struct cd_media_token {
    u8 name[CD_LEDGER_TOKEN_LEN]; /* of the impression's token */
    u32 expires_s;
    u64 size; /* of the media */
    char miner[17];
} cd_media_token;

/* cd_media_token_put appends the text of one; cd_media_token_read reads and checks one, as those of cd_token. */
void cd_media_token_put(cd_buf *out, const cd_hmac_sha256_key *key, const cd_media_token *t);
cd_err cd_media_token_read(cd_media_token *out, const cd_hmac_sha256_key *key, cd_bytes text) CD_CHECK;

#endif
