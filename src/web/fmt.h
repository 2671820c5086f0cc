/* web/fmt.h - numbers, amounts and times as people read them, one rule for every page.
 *
 * Results are text in the arena, without units unless said so. Amounts are exact integers from end to end; floating
 * point only for what arrives as such (market prices, shares of a chart). Missing values are the caller's: write
 * CD_FMT_NONE. Threading: pure. */
#ifndef CD_WEB_FMT_H
#define CD_WEB_FMT_H

#include "base/mem/arena.h"
#include "num/u256.h"

/* Shown where there is no value. */
#define CD_FMT_NONE "–"

/* cd_fmt_count groups by thousands: "1,204,906". */
cd_bytes cd_fmt_count(cd_arena *a, u64 v);

/* How many decimals of an amount stand on the page. */
typedef struct cd_fmt_decimals {
    u32 min; /* zeros are kept up to so many */
    u32 sig; /* at most so many significant digits, cut, never rounded up; 0: all of them */
} cd_fmt_decimals;

/* cd_fmt_amount writes v / 10^decimals, grouped: "1,250.00", "0.003629109". With sig, what would be shown as zero is
 * "< 0.000001" (or with as many places as sig asks for). 2^256 - 1 is "∞". decimals beyond 78 give base units and the
 * word "units". */
cd_bytes cd_fmt_amount(cd_arena *a, const cd_u256 *v, u32 decimals, cd_fmt_decimals show);

/* cd_fmt_exact is what a copy button gives: no grouping, dot, all digits: "1250000000", "0.003629109". */
cd_bytes cd_fmt_exact(cd_arena *a, const cd_u256 *v, u32 decimals);

/* cd_fmt_gas_price takes wei: "25.5 gwei", at most three decimals; below 0.001 gwei "12 wei". */
cd_bytes cd_fmt_gas_price(cd_arena *a, const cd_u256 *wei);

/* cd_fmt_percent gives part of whole with two decimals, cut: "12.96 %"; CD_FMT_NONE when whole is 0. */
cd_bytes cd_fmt_percent(cd_arena *a, u64 part, u64 whole);

/* cd_fmt_bytes is decimal: "512 B", "184 kB", "4.1 MB". */
cd_bytes cd_fmt_bytes(cd_arena *a, u64 n);

/* cd_fmt_duration names the two largest units: "212 ms", "47 min 38 s", "2 h 5 min", "3 d 4 h". */
cd_bytes cd_fmt_duration(cd_arena *a, u64 ms);

/* Times are Unix seconds. cd_fmt_age: "52 s ago", "3 h ago"; "in 45 s" for what is to come; the date after 30 days.
 * cd_fmt_utc: "2026-11-21 14:04:46 UTC". cd_fmt_iso: "2026-11-21T14:04:46Z", for datetime attributes.
 * Years beyond 9999 are CD_FMT_NONE in all three. */
cd_bytes cd_fmt_age(cd_arena *a, u64 unix_s, u64 now_s);
cd_bytes cd_fmt_utc(cd_arena *a, u64 unix_s);
cd_bytes cd_fmt_iso(cd_arena *a, u64 unix_s);

/* Market data. cd_fmt_double is the shortest text that reads back as v, as ECMAScript writes numbers. cd_fmt_price
 * groups it, with at least two decimals from 1 on: "97,234.56", "0.18214", "1.234e-8". cd_fmt_change has a sign
 * always: "+2.34 %", "−3.50 %", "0.00 %". cd_fmt_money shortens: "1.92 T", "45.68 B", "812.40". Values that are not
 * finite are CD_FMT_NONE. */
cd_bytes cd_fmt_double(cd_arena *a, double v);
cd_bytes cd_fmt_price(cd_arena *a, double v);
cd_bytes cd_fmt_change(cd_arena *a, double percent);
cd_bytes cd_fmt_money(cd_arena *a, double v);

#endif
