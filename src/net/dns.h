/* net/dns.h - names to addresses, on the loop: as many questions at a time as callers ask, none of which waits for
 * another.
 *
 *   cd_lookup_new ─► /etc/hosts ─► name servers of /etc/resolv.conf, 2 s each, then 4 s ─► fn
 *
 * A name server that is silent costs its own question time and nobody else anything: no thread waits for it. A changed
 * /etc/resolv.conf is noticed. Callers bound how many questions they ask. Wraps c-ares; no other file knows it.
 * Threading: confined to the loop. */
#ifndef CD_NET_DNS_H
#define CD_NET_DNS_H

#include "net/loop.h"

/* An address, 4 or 16 bytes of it in network order. */
typedef struct cd_ip {
    u8 b[16];
    u8 n;
} cd_ip;

/* A name that is being looked up. */
typedef struct cd_lookup cd_lookup;

/* What came of it. CD_OK: at least one address, the preferred first. CD_ENOENT: there is no such name, or it has no
 * address; CD_ETIMEOUT, CD_EIO: nobody said. found is borrowed for the call. */
typedef void cd_lookup_fn(void *ctx, cd_err err, const cd_ip *found, usize cnt);

/* cd_lookup_new finds the addresses of host (an address is its own), at most CD_LOOKUP_MAX; fn is called once, never
 * before this returns. cd_lookup_drop: before that, it will not be; NULL is allowed. */
enum { CD_LOOKUP_MAX = 64 };
cd_lookup *cd_lookup_new(cd_loop *l, const char *host, cd_lookup_fn *fn, void *ctx);
void cd_lookup_drop(cd_lookup *p);

#endif
