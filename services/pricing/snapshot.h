/* services/pricing/snapshot.h - all prices as one file, so that a gateway that starts again has what it knew.
 *
 *   "CDPRICES" | u32 version 1 | u32 cnt | u64 written (wall clock, ns) | cnt × (u32 length, record) | sha256 of it all
 *
 * big-endian; records as in services/pricing/record.h, those used last behind. Nothing here touches a disk.
 * Threading: confined. [spec:pricing#6] */
#ifndef CD_SERVICES_PRICING_SNAPSHOT_H
#define CD_SERVICES_PRICING_SNAPSHOT_H

#include "base/mem/buf.h"
#include "services/pricing/prices.h"

/* Largest file that is read. */
#define CD_SNAPSHOT_MAX ((usize)1 << 30)

/* cd_snapshot_enc appends everything there is. */
void cd_snapshot_enc(cd_buf *out, cd_prices *p);

/* cd_snapshot_load stores what bytes hold and p does not know better; *cnt is how many. Nothing is stored on failure.
 * Errors: CD_ECORRUPT, CD_EVERSION. */
cd_err cd_snapshot_load(cd_prices *p, usize *cnt, cd_bytes bytes, cd_errinfo *why) CD_CHECK;

/* cd_snapshot_changes counts what was stored since the start: equal counts mean equal files. */
u64 cd_snapshot_changes(const cd_prices *p);

#endif
