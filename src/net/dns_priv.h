/* net/dns_priv.h - the resolver as the loop and tests know it. Threading: confined. */
#ifndef CD_NET_DNS_PRIV_H
#define CD_NET_DNS_PRIV_H

#include "net/dns.h"

typedef struct cd__dns cd__dns;

/* cd__dns_free ends all look-ups of a loop without telling; NULL is allowed. */
void cd__dns_free(cd__dns *d);

/* cd__dns_servers_set asks these ("127.0.0.1:5353,…") in place of the system's from now on, and waits try_ms for each
 * at first. For tests. */
void cd__dns_servers_set(cd_loop *l, const char *servers, u32 try_ms);

/* cd__dns_of gives where the loop keeps its resolver; made by the first look-up. */
cd__dns **cd__dns_of(cd_loop *l);

#endif
