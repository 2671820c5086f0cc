/* services/adx/cap/shared.h - counters of frequency caps that several exchanges share, in Valkey or Redis.
 *
 *   candela:adx:caps:EPOCH:key     random, made by whoever is first
 *   candela:adx:caps:LABEL         n, cap                             both gone when the epoch ends
 *   label = as of freq.h, under HMAC-SHA256(secret of the exchanges, key), so that neither the store nor the exchanges'
 *           disks alone say anything, and nobody can link labels of two epochs
 *
 * Looking and counting is one script: of exchanges that count at once, as many are allowed as the cap says. While there
 * is no connection each exchange goes by its own counters. Threading: confined to the loop. [spec:adx#7.1] */
#ifndef CD_ADX_CAP_SHARED_H
#define CD_ADX_CAP_SHARED_H

#include "base/os/clock.h"
#include "net/loop.h"

enum { CD_CAPS_ROWS_MAX = 64 };

typedef struct cd_caps cd_caps;

/* Where the counters are, and what names them. */
typedef struct cd_caps_cfg {
    const char *url; /* as cd_redis_cfg's; borrowed for the call */
    const cd_clock *clock;
    u64 window_s;  /* of an epoch, the same for all */
    u8 secret[32]; /* the same for all */
} cd_caps_cfg;

/* cd_caps_open begins to connect. Errors as cd_redis_open. */
cd_err cd_caps_open(cd_caps **out, cd_loop *l, const cd_caps_cfg *cfg, cd_errinfo *why) CD_CHECK;
/* cd_caps_close: what was asked is not answered any more. NULL is allowed. */
void cd_caps_close(cd_caps *c);

/* cd_caps_is_ready: there is a connection, and this epoch's key is known. */
bool cd_caps_is_ready(cd_caps *c);

/* A campaign and its cap: 1 to CD_FREQ_CAP_MAX. */
typedef struct cd_caps_row {
    cd_bytes campaign;
    u64 cap;
} cd_caps_row;

/* left[i]: how often row i's campaign could be shown to the device, before this one was counted. NULL: no answer. */
typedef void cd_caps_fn(void *ctx, const u32 *left, usize cnt);

/* cd_caps_ask asks about 1 to CD_CAPS_ROWS_MAX rows, and counts one more of each that has any left (is_count). Names
 * have 1 to CD_FREQ_NAME_MAX bytes. fn is called once, later; NULL: nobody wants to know. False: not ready, and fn is
 * not called. */
bool cd_caps_ask(cd_caps *c, cd_bytes device, const cd_caps_row *rows, usize cnt, bool is_count, cd_caps_fn *fn,
                 void *ctx) CD_CHECK;

#endif
