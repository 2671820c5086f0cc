/* services/adx/openrtb/fields.h - members of OpenRTB objects: absent is fine, another type is not.
 *
 * Every function reads one member when it is there and not null, and leaves *out as it is otherwise. Errors: those of
 * codec/json.h, with the path in why. Threading: pure. */
#ifndef CD_ADX_OPENRTB_FIELDS_H
#define CD_ADX_OPENRTB_FIELDS_H

#include "services/adx/openrtb/req.h"

/* cd_rtb_f_int reads an integer, 1.0 too. cd_rtb_f_count one that must not be negative. cd_rtb_f_flag: 1 is true. */
cd_err cd_rtb_f_int(i32 *out, cd_json obj, const char *key, cd_errinfo *why) CD_CHECK;
cd_err cd_rtb_f_count(i32 *out, cd_json obj, const char *key, cd_errinfo *why) CD_CHECK;
cd_err cd_rtb_f_flag(bool *out, cd_json obj, const char *key, cd_errinfo *why) CD_CHECK;
/* cd_rtb_f_money reads an amount that must not be negative. */
cd_err cd_rtb_f_money(cd_micro *out, cd_json obj, const char *key, cd_micro_round round, cd_errinfo *why) CD_CHECK;
/* cd_rtb_f_cur reads a currency. Errors: CD_EFORMAT for what is none. */
cd_err cd_rtb_f_cur(cd_cur *out, cd_json obj, const char *key, cd_errinfo *why) CD_CHECK;
cd_err cd_rtb_f_str(cd_bytes *out, cd_json obj, const char *key, cd_errinfo *why) CD_CHECK;
/* Lists, in the arena. Errors: CD_ELIMIT beyond CD_RTB_LIST_MAX elements. */
cd_err cd_rtb_f_strs(cd_rtb_strs *out, cd_arena *a, cd_json obj, const char *key, cd_errinfo *why) CD_CHECK;
cd_err cd_rtb_f_ints(cd_rtb_ints *out, cd_arena *a, cd_json obj, const char *key, cd_errinfo *why) CD_CHECK;

#endif
