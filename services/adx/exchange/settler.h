/* services/adx/exchange/settler.h - the exchange on the chain: batches to the escrow contract, payouts to miners.
 *
 *   every interval: ledger ─► batches, payouts ─► one after the other, at most one transaction a second:
 *   made ─ estimate, sign ─► signed (on the disk) ─ send ─► receipt ─► done ─► chain's own figures compared
 *
 * A node that is away, a contract that refuses, a nonce that somebody else used: the sending waits and is tried again,
 * and the ones behind it go on. After a kill the bytes on the disk are sent again. Of several processes on one ledger
 * one settles at a time. The node is believed in what it says of the chain. Threading: confined to the loop.
 * [spec:adx#9] */
#ifndef CD_ADX_EXCHANGE_SETTLER_H
#define CD_ADX_EXCHANGE_SETTLER_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "net/loop.h"
#include "services/adx/exchange/config.h"
#include "services/adx/ledger/clerk.h"
#include "services/adx/ledger/settle.h"

enum { CD_SETTLER_LOOKED_MAX = 256 };

typedef struct cd_settler cd_settler;

/* What a settler works with; escrow and its strings are copied, the rest borrowed. */
typedef struct cd_settler_cfg {
    cd_loop *loop;
    cd_logger *log;
    cd_metrics *metrics;
    const cd_clock *clock;
    cd_clerk *clerk;
    const cd_adx_escrow *escrow;
} cd_settler_cfg;

/* cd_settler_new reads the key and begins. Errors: CD_EACCES and CD_EFORMAT (the key's file). cd_settler_end lets what
 * is with the clerk come back, then calls done once; cd_settler_free: after that. NULL is allowed for free. */
cd_err cd_settler_new(cd_settler **out, const cd_settler_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_settler_end(cd_settler *s, void (*done)(void *ctx), void *ctx);
void cd_settler_free(cd_settler *s);

/* A campaign as ledger and chain have it, in the token's units. */
typedef struct cd_settler_compared {
    char campaign[CD_LEDGER_ID_MAX + 1];
    cd_u256 ledger, chain;
} cd_settler_compared;

/* How it stands. */
typedef struct cd_settler_state {
    cd_addr20 account, contract;
    bool is_mine;        /* this process settles */
    const char *trouble; /* of the last call to the node; "" (borrowed) */
    u64 sent, compared_ms;
    bool is_equal; /* chain and ledger, when they were compared last */
    const cd_settler_compared *compared;
    usize compared_cnt;
} cd_settler_state;
/* cd_settler_look tells it. */
cd_settler_state cd_settler_look(const cd_settler *s);

#endif
