/* finality/cert/epoch_priv.h - what writing and reading checkpoints and changes share. Threading: pure.
 * [spec:finality#5] */
#ifndef CD_FINALITY_EPOCH_PRIV_H
#define CD_FINALITY_EPOCH_PRIV_H

#include "finality/cert/epoch.h"

/* What files of both kinds begin with, four characters and a version; the bytes of a threshold key. */
#define CD__FIN_CHECKPOINT "CDFC\0\0"
#define CD__FIN_CHANGES    "CDFL\0\0"
enum {
    CD__FIN_MAGIC = 6,
    CD__FIN_GROUP = 16 + CD_RT_ROWS * (8 + (CD_RT_COLS + 1) * CD_LPOLY_BYTES),
};

/* Flags of a validator in a change. */
enum { CD__FIN_HAS_BLS = 1, CD__FIN_HAS_MLDSA = 2, CD__FIN_NO_MLDSA = 4 };

#endif
