/* services/adx/openrtb/adcom.h - a request of OpenRTB 3.0 with AdCOM 1.0, said in 2.x.
 *
 * Members keep their values; names and places change by one table. What 2.x has no place for is left out.
 * Threading: pure. [spec:adx#3.5] */
#ifndef CD_ADX_OPENRTB_ADCOM_H
#define CD_ADX_OPENRTB_ADCOM_H

#include "services/adx/openrtb/req.h"

/* cd_adcom_down appends the request in 2.x. text is a document with the root "openrtb".
 * Errors: those of codec/json.h; CD_EVERSION for another version or domain; CD_ENOENT for an item without spec. */
cd_err cd_adcom_down(cd_buf *out, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_adcom_is_root: text, a JSON document, has the root of 3.0. Looks no further than its first key. */
bool cd_adcom_is_root(cd_bytes text);

#endif
