/* services/webhook/core/names.h - the words for faces, event types and states, as clients read and write them.
 *
 * Threading: pure. [spec:webhooks#2, #3, #5] */
#ifndef CD_WEBHOOK_CORE_NAMES_H
#define CD_WEBHOOK_CORE_NAMES_H

#include "services/webhook/core/model.h"

/* cd_wh_type_name gives "erc20_transfer"; cd_wh_type_face whose it is; cd_wh_type_of finds a name of a face,
 * CD_ENOENT. */
const char *cd_wh_type_name(cd_wh_type t);
cd_wh_face cd_wh_type_face(cd_wh_type t);
cd_err cd_wh_type_of(cd_wh_type *out, cd_wh_face face, cd_bytes name) CD_CHECK;

/* cd_wh_state_name gives "quota_exceeded"; cd_wh_state_of finds one, CD_ENOENT. */
const char *cd_wh_state_name(cd_wh_state s);
cd_err cd_wh_state_of(cd_wh_state *out, cd_bytes name) CD_CHECK;

/* cd_wh_status_name: what a face calls a webhook's status ("enabled", "active", "inactive"). */
const char *cd_wh_status_name(cd_wh_face face, cd_wh_status s);

/* cd_wh_face_name gives "a"; cd_wh_face_of reads it, in either case, CD_ENOENT. */
const char *cd_wh_face_name(cd_wh_face face);
cd_err cd_wh_face_of(cd_wh_face *out, cd_bytes name) CD_CHECK;

#endif
