/* services/adx/auction/text.h - numbers and bytes as the auction's JSON has them: hex without 0x (read with or without,
 * in any case), 64-bit numbers as decimal text. Threading: pure. [spec:adx#5.1] */
#ifndef CD_ADX_AUCTION_TEXT_H
#define CD_ADX_AUCTION_TEXT_H

#include "codec/json.h"

/* cd_adx_put_hex and cd_adx_put_u64 write a member of an object; cd_adx_put_time milliseconds since 1970, as RFC
 * 3339. */
void cd_adx_put_hex(cd_json_w *w, const char *key, cd_bytes b);
void cd_adx_put_u64(cd_json_w *w, const char *key, u64 v);
void cd_adx_put_time(cd_json_w *w, const char *key, u64 ms);

/* cd_adx_hex_fixed reads n bytes from hex, cd_adx_u64 a number from decimal text (or a JSON integer). Errors:
 * CD_EFORMAT with the place. */
cd_err cd_adx_hex_fixed(void *out, usize n, cd_json v, cd_errinfo *why) CD_CHECK;
cd_err cd_adx_u64(u64 *out, cd_json v, cd_errinfo *why) CD_CHECK;

#endif
