/* store/kv_priv.h - where an iterator starts: shared by the engines and layers. Threading: pure. */
#ifndef CD_STORE_KV_PRIV_H
#define CD_STORE_KV_PRIV_H

#include "store/kv.h"

/* The first candidate of a range: forwards the first key >= key, backwards the last one <= key (< key
 * when is_open). Without a key: the edge of the map. The prefix is still to be tested on each key. */
typedef struct cd__kv_bound {
    cd_bytes key;
    bool has_key;
    bool is_open;
} cd__kv_bound;

/* cd__kv_behind writes the first key that is greater than all that start with prefix, at most as long as prefix, and
 * gives its length; 0: there is none. */
usize cd__kv_behind(u8 *buf, cd_bytes prefix);

/* cd__kv_bound_of gives where a range begins; the key may lie in buf. */
cd__kv_bound cd__kv_bound_of(u8 buf[CD_KV_MAX_KEY], const cd_kv_range *range);

CD_INLINE bool cd__kv_has_prefix(cd_bytes key, cd_bytes prefix)
{
    return key.n >= prefix.n && (prefix.n == 0 || memcmp(key.p, prefix.p, prefix.n) == 0);
}

#endif
