/* services/adx/openrtb/money.h - amounts of money in millionths, exactly, and rates between currencies.
 *
 * Prices of the exchange are CPM (for a thousand impressions); an amount of X millionths CPM is X billionths for one
 * impression, so that no division is ever needed. Text is decimal, as JSON writes numbers; binary fractions appear
 * nowhere. Threading: pure; rates are frozen. [spec:adx#3.4] */
#ifndef CD_ADX_OPENRTB_MONEY_H
#define CD_ADX_OPENRTB_MONEY_H

#include "base/mem/arena.h"

/* Millionths of a currency unit. What comes from outside is at most CD_MICRO_MAX. */
typedef i64 cd_micro;
#define CD_MICRO_ONE ((cd_micro)1000000)
#define CD_MICRO_MAX ((cd_micro)1000000000000000)

/* What becomes of digits behind the sixth: floors are rounded up, bids down. */
typedef enum cd_micro_round { CD_MICRO_DOWN, CD_MICRO_UP } cd_micro_round;

/* cd_micro_parse reads a JSON number, with an exponent too; rounding is away from or towards zero.
 * Errors: CD_EFORMAT; CD_ERANGE beyond CD_MICRO_MAX. */
cd_err cd_micro_parse(cd_micro *out, cd_bytes text, cd_micro_round round) CD_CHECK;

/* cd_micro_fmt writes v >= 0 with as many of six decimals as it needs, no exponent and no NUL: "2.51", "3". */
enum { CD_MICRO_TEXT_MAX = 24 };
usize cd_micro_fmt(char out[CD_MICRO_TEXT_MAX], cd_micro v);

/* A currency: three capitals. */
typedef struct cd_cur {
    char c[4];
} cd_cur;

/* cd_cur_of reads a currency's code; false for what is none. cd_cur_eq compares. */
bool cd_cur_of(cd_cur *out, cd_bytes text);
CD_INLINE bool cd_cur_eq(cd_cur a, cd_cur b)
{
    return memcmp(a.c, b.c, 4) == 0;
}
#define CD_CUR_USD ((cd_cur){"USD"})

/* One rate: a unit of `from` is `rate` millionths of `to`. */
typedef struct cd_fx_rate {
    cd_cur from, to;
    cd_micro rate;
} cd_fx_rate;

/* Rates of exchange at one moment. */
typedef struct cd_fx {
    const cd_fx_rate *rates;
    usize cnt;
} cd_fx;

/* cd_fx_convert gives v >= 0 in another currency by a rate or the inverse of one; false when there is none, or the
 * amount is too large. */
bool cd_fx_convert(cd_micro *out, const cd_fx *fx, cd_micro v, cd_cur from, cd_cur to, cd_micro_round round);

#endif
