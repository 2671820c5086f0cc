/* node/front/health.h - is this node well? Checks with a name, asked when somebody wants to know, and their routes.
 *
 *   GET  P/health  P/health/health  P/health/readiness  P/health/liveness      200, or 503 when a check fails
 *   POST P/health  health.health    health.readiness    health.liveness        always 200
 *
 * A check that is about a net or a chain has their IDs as tags; who asks for tags gets what has one of them, and what
 * is about the whole node. Results are kept for a while, so asking often costs nothing. Threading: confined to the
 * loop. [spec:node-api#4] */
#ifndef CD_NODE_HEALTH_H
#define CD_NODE_HEALTH_H

#include "base/os/clock.h"
#include "codec/json.h"
#include "net/http/server.h"
#include "rpc/endpoint.h"

typedef struct cd_health cd_health;

/* What a check belongs to, as bits. */
enum { CD_HEALTH_HEALTH = 1, CD_HEALTH_READINESS = 2 };

/* A check writes its message, one JSON value, and gives NULL when all is well, else what is wrong (static). */
typedef const char *cd_health_check(void *ctx, cd_json_w *message);

/* cd_health_new makes an empty set whose results are dated by clock and kept for fresh_ns (0: a second);
 * cd_health_free: when no request is left, NULL is allowed. */
cd_health *cd_health_new(const cd_clock *clock, u64 fresh_ns);
void cd_health_free(cd_health *h);

/* cd_health_add adds a check under a name of its own, borrowed until cd_health_remove takes it out again. */
void cd_health_add(cd_health *h, const char *name, u32 kinds, cd_health_check *check, void *ctx);
void cd_health_remove(cd_health *h, const char *name);

/* cd_health_tag gives the check of a name its tags, CD_HEALTH_TAGS_MAX at most. */
enum { CD_HEALTH_TAGS_MAX = 2 };
void cd_health_tag(cd_health *h, const char *name, const cd_hash32 *tags, usize cnt);

/* cd_health_has: there is a check of that name. */
bool cd_health_has(const cd_health *h, const char *name);

/* cd_health_fmt runs the checks of a kind (CD_HEALTH_*, 0: liveness) and appends {"checks":…,"healthy":…}; gives
 * whether all passed. */
bool cd_health_fmt(cd_health *h, cd_buf *out, u32 kind);

/* cd_health_fmt_tags does so for the checks that have one of cnt tags, in text, and for those without any; cnt 0:
 * all. */
bool cd_health_fmt_tags(cd_health *h, cd_buf *out, u32 kind, const cd_bytes *tags, usize cnt);

/* cd_health_put_since writes a member of a message, for how long something is so: "12.345ms", "0s" for 0. */
void cd_health_put_since(cd_json_w *w, const char *key, u64 ns);

/* cd_health_failing counts checks that failed when they were asked last. */
usize cd_health_failing(const cd_health *h);

/* cd_health_routes adds the routes below prefix ("/v1"). lanes as of the node; both calls once a server and prefix. */
void cd_health_routes(cd_health *h, cd_http_server *s, const char *prefix, cd_loop *loop, const cd_rpc_lanes *lanes);

#endif
