/* num/exp.h - powers modulo 2^256 (EXP). Threading: pure. */
#ifndef CD_NUM_EXP_H
#define CD_NUM_EXP_H

#include "num/u256.h"

/* cd_u256_exp stores base^exponent modulo 2^256; 0^0 is 1. out may alias an input. */
void cd_u256_exp(cd_u256 *out, const cd_u256 *base, const cd_u256 *exponent);

#endif
