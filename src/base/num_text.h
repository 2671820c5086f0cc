/* base/num_text.h - numbers to text and back, strictly: no blanks, no signs, no locale.
 *
 * The only place for strtoul-like work. Threading: pure. */
#ifndef CD_BASE_NUM_TEXT_H
#define CD_BASE_NUM_TEXT_H

#include "base/bytes.h"

/* Room for the longest decimal u64 or i64, and for "0x" and 16 digits; no NUL. */
enum { CD_U64_TEXT_MAX = 20 };

/* cd_u64_parse reads a decimal number that fills all of text.
 * Errors: CD_EFORMAT (empty, or a character that is no digit), CD_ECANON (leading zero), CD_ERANGE.
 */
cd_err cd_u64_parse(u64 *out, cd_bytes text) CD_CHECK;

/* cd_i64_parse is cd_u64_parse with an optional '-' in front. "-0" is CD_ECANON. */
cd_err cd_i64_parse(i64 *out, cd_bytes text) CD_CHECK;

/* cd_u64_parse_hex reads a JSON-RPC quantity: "0x", then digits without a leading zero ("0x0" is
 * zero) [spec:eth-rpc#2]. Errors: CD_EFORMAT (no "0x", no digit, another character), CD_ECANON
 * (leading zero), CD_ERANGE. */
cd_err cd_u64_parse_hex(u64 *out, cd_bytes text) CD_CHECK;

/* cd_u64_fmt / cd_i64_fmt / cd_u64_fmt_hex write the number without a NUL and give its length.
 * The hex form is a JSON-RPC quantity. */
usize cd_u64_fmt(char out[CD_U64_TEXT_MAX], u64 v);
usize cd_i64_fmt(char out[CD_U64_TEXT_MAX], i64 v);
usize cd_u64_fmt_hex(char out[CD_U64_TEXT_MAX], u64 v);

/* cd_f64_fmt writes a finite number, without a NUL, in the fewest digits that give it back when read, as ECMAScript
 * does: "0.1", "97234.56", "1e-7", "1.5e+22"; zero is "0" whatever its sign. The length is returned. */
enum { CD_F64_TEXT_MAX = 32 };
usize cd_f64_fmt(char out[CD_F64_TEXT_MAX], double v);

/* cd_duration_parse reads a duration such as "30s", "2m0s", "1.5h", "100ms" or "0" into
 * nanoseconds. Units: ns us µs ms s m h. Errors: CD_EFORMAT, CD_ERANGE. */
cd_err cd_duration_parse(u64 *out_ns, cd_bytes text) CD_CHECK;

/* cd_duration_fmt writes nanoseconds and a NUL as Go does: "1m0s", "1h0m0.5s", "1.5ms", "0s". Gives the length. */
enum { CD_DURATION_TEXT_MAX = 32 };
usize cd_duration_fmt(char out[CD_DURATION_TEXT_MAX], u64 ns);

/* cd_size_parse reads a byte count such as "4096", "10GB" (10^9), "64MiB" (2^20) or "8k" (10^3).
 * Errors: CD_EFORMAT, CD_ERANGE. */
cd_err cd_size_parse(u64 *out, cd_bytes text) CD_CHECK;

#endif
