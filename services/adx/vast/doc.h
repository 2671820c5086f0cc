/* services/adx/vast/doc.h - VAST documents of our own: inline ads, wrappers, pods, none.
 *
 *   cd_vast_begin ─► cd_vast_ad … ─► cd_vast_end        the order of elements is that of the version's schema
 *
 * Text is escaped, addresses stand in CDATA, bytes that XML or UTF-8 does not allow become U+FFFD. 4.3 is written as
 * 4.2, whose structure it has. Threading: pure. [spec:adx#4.2] */
#ifndef CD_ADX_VAST_DOC_H
#define CD_ADX_VAST_DOC_H

#include "services/adx/openrtb/money.h"

#include "base/mem/buf.h"

/* Versions of VAST, oldest first. */
typedef enum cd_vast_version { CD_VAST_20, CD_VAST_30, CD_VAST_40, CD_VAST_41, CD_VAST_42, CD_VAST_43 } cd_vast_version;

/* cd_vast_version_of reads "4.2"; false for a version there is none of. */
bool cd_vast_version_of(cd_vast_version *out, cd_bytes text);

/* A file to play: pixels, and kilobits a second. */
typedef struct cd_vast_media {
    cd_bytes url, type;
    i32 w, h, bitrate;
    bool is_streaming;
} cd_vast_media;

/* One ad. Empty and 0: not said. */
typedef struct cd_vast_ad {
    cd_bytes id;
    u32 sequence;     /* in a pod, from 1 */
    cd_bytes beacons; /* "https://x.example/t/": an event's name and token go behind */
    cd_bytes token;
    cd_bytes serving_id; /* 4.1 and later */
    cd_micro price;      /* CPM */
    cd_cur cur;
    cd_bytes tag_uri; /* a wrapper around the document there; what follows is of inline ads alone */
    cd_bytes title, advertiser, category, description;
    cd_bytes creative_id, ad_id, registry, universal_id, click;
    u32 duration_s, skip_after_s, expires_s;
    const cd_vast_media *media;
    usize media_cnt;
} cd_vast_ad;

/* cd_vast_begin, cd_vast_ad_put and cd_vast_end append a document with ads; cd_vast_none one without, which tells an
 * error URL (empty: none). */
void cd_vast_begin(cd_buf *out, cd_vast_version v);
void cd_vast_ad_put(cd_buf *out, cd_vast_version v, const cd_vast_ad *ad);
void cd_vast_end(cd_buf *out);
void cd_vast_none(cd_buf *out, cd_vast_version v, cd_bytes error_url);

/* cd_vast_text and cd_vast_cdata append character data as it must stand in XML. */
void cd_vast_text(cd_buf *out, cd_bytes s);
void cd_vast_cdata(cd_buf *out, cd_bytes s);

/* cd_vast_url appends an address in CDATA; what no URI may hold is percent-encoded, [MACROS] stay. */
void cd_vast_url(cd_buf *out, cd_bytes url);

/* cd_vast_events: what is tracked beside impression, error and click, ended by NULL. */
const char *const *cd_vast_events(void);

#endif
