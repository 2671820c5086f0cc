/* services/webhook/core/send/target.h - where a webhook may send to: URLs of strangers, checked before anything is
 * sent.
 *
 *   URL ─► cd_wh_target_parse: strict grammar, port, address literals ─► refused, or a host to look up
 *   host ─► cd_wh_guard_look_up: every address it has ─► cd_wh_guard_may ─► one bad refuses all ─► all, to connect to
 *
 * The grammar is narrower than a browser's, so that no two readers of a URL can see two hosts in it: ASCII alone, no
 * blanks or backslashes, no user, no fragment, no percent signs in the host, host names of letters, digits and
 * hyphens (an IDN as xn--…), IPv4 as four decimal numbers, IPv6 in brackets without a zone. Addresses are checked
 * when a webhook is made and at every attempt; the connection then goes to an address that was checked, whatever
 * the name says by now. Answers of a look-up serve for a few seconds: safe, because it is addresses that are
 * checked.
 *
 * A tenant has 16 questions under way at a time; the rest wait behind its own, not in the way of others. Who waited
 * 5 s is told that nobody answered. While a name's servers are silent its last good addresses serve, for ten minutes
 * and after 0.3 s of waiting. Threading: cd_wh_target_parse and cd_wh_guard_may are pure, the rest is confined to the
 * loop. [spec:webhooks#2, #8] */
#ifndef CD_WEBHOOK_CORE_TARGET_H
#define CD_WEBHOOK_CORE_TARGET_H

#include "net/dns.h"
#include "services/webhook/core/model.h"

typedef struct cd_wh_guard cd_wh_guard;

enum { CD_WH_HOST_MAX = 254, CD_WH_ADDRESS_MAX = 46 /* both with NUL */, CD_WH_TO_MAX = 4 };

/* How names are looked up: as cd_lookup does it, or a test. fn is called once, later; drop before that. */
typedef struct cd_wh_resolver {
    void *(*look_up)(void *ctx, const char *host, cd_lookup_fn *fn, void *arg);
    void (*drop)(void *lookup);
    void *ctx;
} cd_wh_resolver;

/* Which receivers are allowed, and how their names are looked up. */
typedef struct cd_wh_guard_cfg {
    bool allow_http;
    const char *const *allow_cidrs; /* "127.0.0.0/8": fine although denied otherwise */
    usize allow_cidrs_cnt;
    const cd_wh_resolver *resolver; /* NULL: the system's; copied */
    u32 keep_ms;                    /* how long an answer serves; 0: 5000 */
    u32 wait_ms; /* how long a question is waited for; 0: 5000, or 300 when there are good addresses */
} cd_wh_guard_cfg;

/* cd_wh_guard_new makes the policy. Errors: CD_EFORMAT (a network that is none). */
cd_err cd_wh_guard_new(cd_wh_guard **out, cd_loop *loop, const cd_wh_guard_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_wh_guard_free(cd_wh_guard *g); /* NULL is allowed */

/* A URL that is fine so far. */
typedef struct cd_wh_target {
    char host[CD_WH_HOST_MAX]; /* lower case, without brackets and the last dot; zeros behind it */
    u16 port;
    bool is_https;
    bool is_literal;                 /* host is an address, which may be connected to */
    char address[CD_WH_ADDRESS_MAX]; /* then: it, canonical */
} cd_wh_target;

/* cd_wh_target_parse reads and checks a URL. Errors, with words for the one who gave it: CD_EFORMAT, CD_EACCES (scheme,
 * port or address that is not allowed). */
cd_err cd_wh_target_parse(cd_wh_target *out, const cd_wh_guard *g, cd_bytes url, cd_errinfo *why) CD_CHECK;

/* cd_wh_guard_may: a connection may go to this address of 4 or 16 bytes. */
bool cd_wh_guard_may(const cd_wh_guard *g, cd_bytes address);

/* Where a connection may go, the best first. */
typedef struct cd_wh_addresses {
    char text[CD_WH_TO_MAX][CD_WH_ADDRESS_MAX];
    usize cnt;
} cd_wh_addresses;

/* How a look-up ended. CD_OK: to has one to connect to, at least; CD_EACCES: the name leads to an address that is
 * denied; CD_ENOENT: it leads nowhere; CD_ETIMEOUT, CD_EIO: nobody answers. to is borrowed for the call. */
typedef void cd_wh_vetted_fn(void *ctx, cd_err err, const cd_wh_addresses *to);
typedef struct cd_wh_vetting cd_wh_vetting;

/* cd_wh_guard_known gives the answer when no look-up is needed; false when cd_wh_guard_look_up is. err and to as for
 * cd_wh_vetted_fn, to borrowed until the next call. */
bool cd_wh_guard_known(cd_wh_guard *g, const cd_wh_target *t, cd_err *err, const cd_wh_addresses **to);

/* cd_wh_guard_look_up asks for a tenant (a project's id); fn is called once, never before this returns. Look-ups of one
 * name at a time are one. cd_wh_vetting_drop: before that, it will not be. */
cd_wh_vetting *cd_wh_guard_look_up(cd_wh_guard *g, const cd_wh_target *t, const char *tenant, cd_wh_vetted_fn *fn,
                                   void *ctx);
void cd_wh_vetting_drop(cd_wh_vetting *v);

/* cd_wh_guard_good: a connection was made to this address, which comes first from now on. */
void cd_wh_guard_good(cd_wh_guard *g, const cd_wh_target *t, const char *address);

#endif
