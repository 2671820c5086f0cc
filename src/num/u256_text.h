/* num/u256_text.h - 256-bit words as decimal and hexadecimal text. Threading: pure. */
#ifndef CD_NUM_U256_TEXT_H
#define CD_NUM_U256_TEXT_H

#include "num/u256.h"

/* Room for any value with its NUL: 78 decimal digits, or "0x" and 64 hexadecimal ones. */
#define CD_U256_TEXT_MAX 79

/* cd_u256_parse_dec reads one or more decimal digits; leading zeros are allowed.
 * cd_u256_parse_hex reads one or more hexadecimal digits without prefix, upper or lower case.
 * cd_u256_parse reads hexadecimal after "0x" or "0X" and decimal otherwise.
 * Errors: CD_EFORMAT for a text without digits or with another character, CD_ERANGE for 2^256 and more. */
cd_err cd_u256_parse_dec(cd_u256 *out, cd_bytes text) CD_CHECK;
cd_err cd_u256_parse_hex(cd_u256 *out, cd_bytes text) CD_CHECK;
cd_err cd_u256_parse(cd_u256 *out, cd_bytes text) CD_CHECK;

/* cd_u256_fmt_dec writes decimal digits and a NUL without leading zeros and gives the length without
 * the NUL. cd_u256_fmt_hex does the same with "0x" and lower-case digits ("0x0" for zero), which is
 * the JSON-RPC quantity form. cd_u256_fmt_hex64 always writes 64 digits after the prefix. */
usize cd_u256_fmt_dec(char out[CD_U256_TEXT_MAX], const cd_u256 *a);
usize cd_u256_fmt_hex(char out[CD_U256_TEXT_MAX], const cd_u256 *a);
usize cd_u256_fmt_hex64(char out[CD_U256_TEXT_MAX], const cd_u256 *a);

#endif
