/* node/health.h - is this node well? Checks with a name, asked when somebody wants to know, and their routes.
 *
 *   GET  P/health  P/health/health  P/health/readiness  P/health/liveness      200, or 503 when a check fails
 *   POST P/health  health.health    health.readiness    health.liveness        always 200
 *
 * Results are kept for a second, so asking often costs nothing. Threading: confined to the loop. [spec:node-api#4] */
#ifndef CD_NODE_HEALTH_H
#define CD_NODE_HEALTH_H

#include "codec/json.h"
#include "net/http_server.h"
#include "rpc/endpoint.h"

typedef struct cd_health cd_health;

/* What a check belongs to, as bits. */
enum { CD_HEALTH_HEALTH = 1, CD_HEALTH_READINESS = 2 };

/* A check writes its message, one JSON value, and gives NULL when all is well, else what is wrong (static). */
typedef const char *cd_health_check(void *ctx, cd_json_w *message);

/* cd_health_new makes an empty set; cd_health_free: when no request is left, NULL is allowed. */
cd_health *cd_health_new(void);
void cd_health_free(cd_health *h);

/* cd_health_add adds a check; name is borrowed. Names in ascending order. */
void cd_health_add(cd_health *h, const char *name, u32 kinds, cd_health_check *check, void *ctx);

/* cd_health_fmt runs the checks of a kind (CD_HEALTH_*, 0: liveness) and appends {"checks":…,"healthy":…}; gives whether
 * all passed. */
bool cd_health_fmt(cd_health *h, cd_buf *out, u32 kind);

/* cd_health_failing counts checks that failed when they were asked last. */
usize cd_health_failing(const cd_health *h);

/* cd_health_routes adds the routes below prefix ("/v1"). lanes as of the node; both calls once a server and prefix. */
void cd_health_routes(cd_health *h, cd_http_server *s, const char *prefix, cd_loop *loop,
                      const cd_rpc_lanes *lanes);

#endif
