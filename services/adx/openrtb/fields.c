#include "services/adx/openrtb/fields.h"

static cd_err int_of(i32 *out, cd_json v, cd_errinfo *why)
{
    cd_bytes text;
    cd_micro m;
    CD_TRY(cd_json_num(&text, v, why));
    if (cd_micro_parse(&m, text, CD_MICRO_DOWN) != CD_OK || m / CD_MICRO_ONE > INT32_MAX ||
        m / CD_MICRO_ONE < INT32_MIN) {
        return cd_json_fail(v, CD_ERANGE, "number is too large", why);
    }
    if (m % CD_MICRO_ONE != 0) {
        return cd_json_fail(v, CD_ETYPE, "not an integer", why);
    }
    *out = (i32)(m / CD_MICRO_ONE);
    return CD_OK;
}

cd_err cd_rtb_f_int(i32 *out, cd_json obj, const char *key, cd_errinfo *why)
{
    cd_json v = cd_json_get(obj, key);
    return cd_json_has(v) ? int_of(out, v, why) : CD_OK;
}

cd_err cd_rtb_f_count(i32 *out, cd_json obj, const char *key, cd_errinfo *why)
{
    i32 v = *out;
    CD_TRY(cd_rtb_f_int(&v, obj, key, why));
    if (v < 0) {
        return cd_json_fail(cd_json_get(obj, key), CD_ERANGE, "must not be negative", why);
    }
    *out = v;
    return CD_OK;
}

cd_err cd_rtb_f_flag(bool *out, cd_json obj, const char *key, cd_errinfo *why)
{
    i32 v = *out;
    CD_TRY(cd_rtb_f_int(&v, obj, key, why));
    *out = v == 1;
    return CD_OK;
}

cd_err cd_rtb_f_money(cd_micro *out, cd_json obj, const char *key, cd_micro_round round, cd_errinfo *why)
{
    cd_json v = cd_json_get(obj, key);
    cd_bytes text;
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_num(&text, v, why));
    if (cd_micro_parse(out, text, round) != CD_OK) {
        return cd_json_fail(v, CD_ERANGE, "number is too large", why);
    }
    return *out >= 0 ? CD_OK : cd_json_fail(v, CD_ERANGE, "must not be negative", why);
}

cd_err cd_rtb_f_cur(cd_cur *out, cd_json obj, const char *key, cd_errinfo *why)
{
    cd_json v = cd_json_get(obj, key);
    cd_bytes text;
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_str(&text, v, why));
    return cd_cur_of(out, text) ? CD_OK : cd_json_fail(v, CD_EFORMAT, "not a currency", why);
}

cd_err cd_rtb_f_str(cd_bytes *out, cd_json obj, const char *key, cd_errinfo *why)
{
    cd_json v = cd_json_get(obj, key);
    return cd_json_has(v) ? cd_json_str(out, v, why) : CD_OK;
}

static cd_err check_list(cd_json list, cd_errinfo *why)
{
    CD_TRY(cd_json_arr(list, why));
    return cd_json_len(list) <= CD_RTB_LIST_MAX ? CD_OK
                                                : cd_json_fail(list, CD_ELIMIT, "has more than 10000 elements", why);
}

cd_err cd_rtb_f_strs(cd_rtb_strs *out, cd_arena *a, cd_json obj, const char *key, cd_errinfo *why)
{
    cd_json list = cd_json_get(obj, key);
    if (!cd_json_has(list)) {
        return CD_OK;
    }
    CD_TRY(check_list(list, why));
    cd_bytes *v = cd_arena_array(a, cd_bytes, cd_json_len(list));
    usize cnt = 0;
    for (cd_json_it it = cd_json_iter(list); cd_json_next(&it);) {
        CD_TRY(cd_json_str(&v[cnt++], it.val, why));
    }
    *out = (cd_rtb_strs){.v = v, .cnt = cnt};
    return CD_OK;
}

cd_err cd_rtb_f_ints(cd_rtb_ints *out, cd_arena *a, cd_json obj, const char *key, cd_errinfo *why)
{
    cd_json list = cd_json_get(obj, key);
    if (!cd_json_has(list)) {
        return CD_OK;
    }
    CD_TRY(check_list(list, why));
    i32 *v = cd_arena_array(a, i32, cd_json_len(list));
    usize cnt = 0;
    for (cd_json_it it = cd_json_iter(list); cd_json_next(&it);) {
        CD_TRY(int_of(&v[cnt++], it.val, why));
    }
    *out = (cd_rtb_ints){.v = v, .cnt = cnt};
    return CD_OK;
}

bool cd_rtb_strs_has(const cd_rtb_strs *list, cd_bytes s)
{
    for (usize i = 0; i < list->cnt; i++) {
        if (cd_bytes_eq(list->v[i], s)) {
            return true;
        }
    }
    return false;
}

bool cd_rtb_ints_has(const cd_rtb_ints *list, i32 v)
{
    for (usize i = 0; i < list->cnt; i++) {
        if (list->v[i] == v) {
            return true;
        }
    }
    return false;
}
