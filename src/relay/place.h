/* relay/place.h - the file that remembers from where each route is read after a restart.
 *
 *   {"version":1,"routes":[{"source":"0x…","destination":"0x…","messenger":"0x…","block":12,"log":3},…]}
 *
 * Routes are known by what they join, not by names: a chain that was made anew is another one. The file is replaced as
 * a whole, durably. Threading: confined. */
#ifndef CD_RELAY_PLACE_H
#define CD_RELAY_PLACE_H

#include "base/os/fileio.h"
#include "relay/core.h"

/* What a route joins, and its place. */
typedef struct cd_relay_place {
    cd_hash32 source, destination; /* blockchain IDs */
    cd_addr20 messenger;           /* of the source */
    cd_relay_pos at;
} cd_relay_place;

/* Routes in a file at most; of those that are not used any more as well. */
enum { CD_RELAY_PLACES_MAX = 1024 };

/* Places, owned; all zero: none. */
typedef struct cd_relay_places {
    cd_relay_place *list;
    usize cnt;
} cd_relay_places;

/* cd_relay_places_load reads a file; one that is not there gives no places. Errors: CD_EFORMAT, those of files. */
cd_err cd_relay_places_load(cd_relay_places *out, cd_fs *fs, const char *path, cd_errinfo *why) CD_CHECK;
cd_err cd_relay_places_save(const cd_relay_places *p, cd_fs *fs, const char *path, cd_errinfo *why) CD_CHECK;
void cd_relay_places_fini(cd_relay_places *p);

/* cd_relay_places_find gives the place of a route, NULL without; cd_relay_places_put sets it, true when that changes
 * something. */
const cd_relay_place *cd_relay_places_find(const cd_relay_places *p, const cd_relay_place *route);
bool cd_relay_places_put(cd_relay_places *p, const cd_relay_place *route);

#endif
