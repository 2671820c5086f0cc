#include "services/adx/openrtb/req.h"

#include "services/adx/openrtb/fields.h"

enum { GDPR_MAX = 1, AT_OWN_MIN = 500 };

/* Members that must not be negative and are of no further interest. */
static cd_err check_counts(cd_json obj, const char *const *keys, usize cnt, cd_errinfo *why)
{
    for (usize i = 0; i < cnt; i++) {
        i32 v = 0;
        CD_TRY(cd_rtb_f_count(&v, obj, keys[i], why));
    }
    return CD_OK;
}

static cd_err wants_id(cd_bytes *out, cd_json obj, cd_errinfo *why)
{
    CD_TRY(cd_rtb_f_str(out, obj, "id", why));
    return out->n != 0 ? CD_OK : cd_json_fail(cd_json_get(obj, "id"), CD_ENOENT, "missing", why);
}

/* --- media --- */

static cd_err read_format(cd_rtb_size *out, cd_json f, cd_errinfo *why)
{
    i32 wmin = 0;
    i32 wratio = 0;
    i32 hratio = 0;
    CD_TRY(cd_json_obj(f, why));
    CD_TRY(cd_rtb_f_count(&out->w, f, "w", why));
    CD_TRY(cd_rtb_f_count(&out->h, f, "h", why));
    CD_TRY(cd_rtb_f_count(&wratio, f, "wratio", why));
    CD_TRY(cd_rtb_f_count(&hratio, f, "hratio", why));
    CD_TRY(cd_rtb_f_count(&wmin, f, "wmin", why));
    bool has_size = out->w != 0 || out->h != 0;
    bool has_ratio = wmin != 0 || wratio != 0 || hratio != 0;
    if (has_size == has_ratio) {
        return cd_json_fail(f, CD_EFORMAT, "wants either w and h, or wmin, wratio and hratio", why);
    }
    if (has_size && (out->w == 0 || out->h == 0)) {
        return cd_json_fail(f, CD_EFORMAT, "wants both w and h", why);
    }
    if (has_ratio && (wmin == 0 || wratio == 0 || hratio == 0)) {
        return cd_json_fail(f, CD_EFORMAT, "wants wmin, wratio and hratio", why);
    }
    return CD_OK;
}

static cd_err read_banner(cd_rtb_imp *imp, cd_arena *a, cd_json b, bool is_full_screen, cd_errinfo *why)
{
    cd_rtb_size own = {0};
    cd_json formats = cd_json_get(b, "format");
    CD_TRY(cd_json_obj(b, why));
    CD_TRY(cd_rtb_f_count(&own.w, b, "w", why));
    CD_TRY(cd_rtb_f_count(&own.h, b, "h", why));
    usize max = 1;
    if (cd_json_has(formats)) {
        CD_TRY(cd_json_arr(formats, why));
        max += cd_json_len(formats);
    }
    cd_rtb_size *sizes = cd_arena_array(a, cd_rtb_size, max);
    for (cd_json_it it = cd_json_iter(formats); cd_json_next(&it);) {
        CD_TRY(read_format(&sizes[imp->sizes_cnt++], it.val, why));
    }
    if (own.w != 0 && own.h != 0) {
        sizes[imp->sizes_cnt++] = own;
    }
    if (imp->sizes_cnt == 0 && !is_full_screen) {
        return cd_json_fail(b, CD_EFORMAT, "has no sizes", why);
    }
    imp->sizes = sizes;
    CD_TRY(cd_rtb_f_ints(&imp->banner_battr, a, b, "battr", why));
    return cd_rtb_f_strs(&imp->banner_mimes, a, b, "mimes", why);
}

static cd_err check_mimes(cd_json media, const cd_rtb_strs *mimes, bool is_wanted, cd_errinfo *why)
{
    cd_json v = cd_json_get(media, "mimes");
    if (mimes->cnt == 0 && (is_wanted || cd_json_has(v))) {
        return cd_json_fail(v, CD_EFORMAT, "wants at least one type", why);
    }
    return CD_OK;
}

static cd_err read_video(cd_rtb_video *out, cd_arena *a, cd_json v, cd_errinfo *why)
{
    static const cd_bytes mp4[] = {{(const u8 *)"video/mp4", 9}};
    static const char *const others[] = {"sequence", "skipmin", "skipafter"};
    CD_TRY(cd_json_obj(v, why));
    CD_TRY(cd_rtb_f_strs(&out->mimes, a, v, "mimes", why));
    CD_TRY(cd_rtb_f_count(&out->w, v, "w", why));
    CD_TRY(cd_rtb_f_count(&out->h, v, "h", why));
    CD_TRY(check_mimes(v, &out->mimes, out->w == 0 || out->h == 0, why));
    CD_TRY(cd_rtb_f_count(&out->minbitrate, v, "minbitrate", why));
    CD_TRY(cd_rtb_f_count(&out->maxbitrate, v, "maxbitrate", why));
    CD_TRY(cd_rtb_f_count(&out->minduration, v, "minduration", why));
    CD_TRY(cd_rtb_f_count(&out->maxduration, v, "maxduration", why));
    CD_TRY(cd_rtb_f_count(&out->maxseq, v, "maxseq", why));
    CD_TRY(cd_rtb_f_count(&out->poddur, v, "poddur", why));
    CD_TRY(cd_rtb_f_int(&out->linearity, v, "linearity", why));
    CD_TRY(cd_rtb_f_money(&out->mincpmpersec, v, "mincpmpersec", CD_MICRO_UP, why));
    CD_TRY(cd_rtb_f_ints(&out->rqddurs, a, v, "rqddurs", why));
    CD_TRY(cd_rtb_f_ints(&out->protocols, a, v, "protocols", why));
    CD_TRY(cd_rtb_f_ints(&out->battr, a, v, "battr", why));
    if (out->mimes.cnt == 0) {
        out->mimes = (cd_rtb_strs){.v = mp4, .cnt = 1};
    }
    return check_counts(v, others, CD_COUNT(others), why);
}

static cd_err check_audio(cd_arena *a, cd_json v, cd_errinfo *why)
{
    static const char *const counts[] = {"sequence", "maxseq", "minbitrate", "maxbitrate"};
    cd_rtb_strs mimes = {0};
    CD_TRY(cd_json_obj(v, why));
    CD_TRY(cd_rtb_f_strs(&mimes, a, v, "mimes", why));
    CD_TRY(check_mimes(v, &mimes, true, why));
    return check_counts(v, counts, CD_COUNT(counts), why);
}

static cd_err check_native(cd_json v, cd_errinfo *why)
{
    cd_bytes request = {0};
    CD_TRY(cd_json_obj(v, why));
    CD_TRY(cd_rtb_f_str(&request, v, "request", why));
    return request.n != 0 ? CD_OK : cd_json_fail(cd_json_get(v, "request"), CD_ENOENT, "missing", why);
}

/* --- imps --- */

static cd_err read_deal(cd_rtb_deal *d, cd_arena *a, cd_json v, cd_errinfo *why)
{
    CD_TRY(cd_json_obj(v, why));
    d->floor_cur = CD_CUR_USD;
    CD_TRY(wants_id(&d->id, v, why));
    CD_TRY(cd_rtb_f_money(&d->floor, v, "bidfloor", CD_MICRO_UP, why));
    CD_TRY(cd_rtb_f_cur(&d->floor_cur, v, "bidfloorcur", why));
    CD_TRY(cd_rtb_f_int(&d->at, v, "at", why));
    CD_TRY(cd_rtb_f_strs(&d->wseat, a, v, "wseat", why));
    return cd_rtb_f_strs(&d->wadomain, a, v, "wadomain", why);
}

static cd_err read_pmp(cd_rtb_imp *imp, cd_arena *a, cd_json pmp, cd_errinfo *why)
{
    cd_json deals = cd_json_get(pmp, "deals");
    CD_TRY(cd_json_obj(pmp, why));
    CD_TRY(cd_rtb_f_flag(&imp->is_private, pmp, "private_auction", why));
    if (!cd_json_has(deals)) {
        return CD_OK;
    }
    CD_TRY(cd_json_arr(deals, why));
    cd_rtb_deal *list = cd_arena_array(a, cd_rtb_deal, cd_json_len(deals));
    for (cd_json_it it = cd_json_iter(deals); cd_json_next(&it);) {
        CD_TRY(read_deal(&list[imp->deals_cnt++], a, it.val, why));
    }
    imp->deals = list;
    return CD_OK;
}

static cd_err read_media(cd_rtb_imp *imp, cd_arena *a, cd_errinfo *why)
{
    cd_json v = imp->json;
    cd_json banner = cd_json_get(v, "banner");
    cd_json video = cd_json_get(v, "video");
    cd_json audio = cd_json_get(v, "audio");
    cd_json native = cd_json_get(v, "native");
    bool is_full_screen = false;
    imp->media = (cd_json_has(banner) ? CD_RTB_BANNER : 0u) | (cd_json_has(video) ? CD_RTB_VIDEO : 0u) |
                 (cd_json_has(audio) ? CD_RTB_AUDIO : 0u) | (cd_json_has(native) ? CD_RTB_NATIVE : 0u);
    if (imp->media == 0) {
        return cd_json_fail(v, CD_ENOENT, "wants one of banner, video, audio and native", why);
    }
    CD_TRY(cd_rtb_f_flag(&is_full_screen, v, "instl", why));
    if ((imp->media & CD_RTB_BANNER) != 0) {
        CD_TRY(read_banner(imp, a, banner, is_full_screen, why));
    }
    if ((imp->media & CD_RTB_VIDEO) != 0) {
        CD_TRY(read_video(&imp->video, a, video, why));
    }
    if ((imp->media & CD_RTB_AUDIO) != 0) {
        CD_TRY(check_audio(a, audio, why));
    }
    return (imp->media & CD_RTB_NATIVE) != 0 ? check_native(native, why) : CD_OK;
}

static cd_err read_imp(cd_rtb_imp *imp, cd_arena *a, cd_json v, cd_errinfo *why)
{
    cd_json pmp = cd_json_get(v, "pmp");
    imp->json = v;
    imp->floor_cur = CD_CUR_USD;
    CD_TRY(cd_json_obj(v, why));
    CD_TRY(wants_id(&imp->id, v, why));
    CD_TRY(read_media(imp, a, why));
    if (cd_json_has(pmp)) {
        CD_TRY(read_pmp(imp, a, pmp, why));
    }
    CD_TRY(cd_rtb_f_money(&imp->floor, v, "bidfloor", CD_MICRO_UP, why));
    CD_TRY(cd_rtb_f_cur(&imp->floor_cur, v, "bidfloorcur", why));
    CD_TRY(cd_rtb_f_str(&imp->tagid, v, "tagid", why));
    CD_TRY(cd_rtb_f_flag(&imp->is_secure, v, "secure", why));
    CD_TRY(cd_rtb_f_flag(&imp->is_rewarded, v, "rwdd", why));
    return cd_rtb_f_count(&imp->exp, v, "exp", why);
}

static cd_err read_imps(cd_rtb_req *r, cd_arena *a, cd_errinfo *why)
{
    cd_json list = cd_json_get(r->json, "imp");
    if (cd_json_has(list)) {
        CD_TRY(cd_json_arr(list, why));
    }
    usize cnt = cd_json_len(list);
    if (cnt == 0) {
        return cd_json_fail(list, CD_ENOENT, "wants at least one element", why);
    }
    if (cnt > CD_RTB_IMPS_MAX) {
        return cd_json_fail(list, CD_ELIMIT, "has more than 64 elements", why);
    }
    cd_rtb_imp *imps = cd_arena_array(a, cd_rtb_imp, cnt);
    usize i = 0;
    for (cd_json_it it = cd_json_iter(list); cd_json_next(&it); i++) {
        CD_TRY(read_imp(&imps[i], a, it.val, why));
        for (usize k = 0; k < i; k++) {
            if (cd_bytes_eq(imps[k].id, imps[i].id)) {
                return cd_json_fail(cd_json_get(it.val, "id"), CD_EEXIST, "is another imp's too", why);
            }
        }
    }
    r->imps = imps;
    r->imps_cnt = cnt;
    return CD_OK;
}

/* --- what stands around them --- */

/* Where the ad will be seen: at most one of three, and a site by its name or page. */
static cd_err check_place(cd_rtb_req *r, cd_errinfo *why)
{
    cd_json site = cd_json_get(r->json, "site");
    cd_json app = cd_json_get(r->json, "app");
    cd_json dooh = cd_json_get(r->json, "dooh");
    bool has_site = cd_json_has(site);
    bool has_app = cd_json_has(app);
    bool has_dooh = cd_json_has(dooh);
    cd_bytes id = {0};
    cd_bytes page = {0};
    if ((has_site && has_app) || (has_site && has_dooh) || (has_app && has_dooh)) {
        return cd_json_fail(has_app && has_site ? app : dooh, CD_EEXIST, "only one of site, app and dooh", why);
    }
    if (has_site) {
        CD_TRY(cd_json_obj(site, why));
        CD_TRY(cd_rtb_f_str(&id, site, "id", why));
        CD_TRY(cd_rtb_f_str(&page, site, "page", why));
        return id.n != 0 || page.n != 0 ? CD_OK : cd_json_fail(site, CD_ENOENT, "wants id or page", why);
    }
    if (has_app) {
        CD_TRY(cd_json_obj(app, why));
        return cd_rtb_f_str(&r->bundle, app, "bundle", why);
    }
    for (usize i = 0; i < r->imps_cnt && !has_dooh; i++) {
        const cd_rtb_imp *imp = &r->imps[i];
        if ((imp->media & CD_RTB_VIDEO) != 0 && (imp->video.w == 0 || imp->video.h == 0)) {
            return cd_json_fail(site, CD_ENOENT, "wants id or page, or the video w and h", why);
        }
    }
    return CD_OK;
}

static cd_err check_geo(cd_json owner, cd_errinfo *why)
{
    static const char *const counts[] = {"accuracy"};
    return check_counts(cd_json_get(owner, "geo"), counts, 1, why);
}

static cd_err read_device(cd_rtb_req *r, cd_errinfo *why)
{
    static const char *const counts[] = {"w", "h", "ppi"};
    cd_json d = cd_json_get(r->json, "device");
    bool lmt = false;
    bool dnt = false;
    if (!cd_json_has(d)) {
        return CD_OK;
    }
    CD_TRY(cd_json_obj(d, why));
    CD_TRY(check_counts(d, counts, CD_COUNT(counts), why));
    CD_TRY(check_geo(d, why));
    CD_TRY(cd_rtb_f_str(&r->ifa, d, "ifa", why));
    CD_TRY(cd_rtb_f_int(&r->devicetype, d, "devicetype", why));
    CD_TRY(cd_rtb_f_str(&r->country, cd_json_get(d, "geo"), "country", why));
    CD_TRY(cd_rtb_f_flag(&lmt, d, "lmt", why));
    CD_TRY(cd_rtb_f_flag(&dnt, d, "dnt", why));
    r->no_tracking = lmt || dnt;
    return CD_OK;
}

static cd_err check_regs(cd_json req, cd_errinfo *why)
{
    cd_json regs = cd_json_get(req, "regs");
    i32 gdpr = 0;
    if (!cd_json_has(regs)) {
        return CD_OK;
    }
    CD_TRY(cd_json_obj(regs, why));
    CD_TRY(cd_rtb_f_int(&gdpr, regs, "gdpr", why));
    return gdpr >= 0 && gdpr <= GDPR_MAX ? CD_OK
                                         : cd_json_fail(cd_json_get(regs, "gdpr"), CD_ERANGE, "must be 0 or 1", why);
}

static cd_err read_lists(cd_rtb_req *r, cd_arena *a, cd_errinfo *why)
{
    CD_TRY(cd_rtb_f_strs(&r->cur, a, r->json, "cur", why));
    CD_TRY(cd_rtb_f_strs(&r->wseat, a, r->json, "wseat", why));
    CD_TRY(cd_rtb_f_strs(&r->bseat, a, r->json, "bseat", why));
    CD_TRY(cd_rtb_f_strs(&r->bcat, a, r->json, "bcat", why));
    CD_TRY(cd_rtb_f_strs(&r->badv, a, r->json, "badv", why));
    CD_TRY(cd_rtb_f_strs(&r->bapp, a, r->json, "bapp", why));
    CD_TRY(cd_rtb_f_strs(&r->wlang, a, r->json, "wlang", why));
    if (r->wseat.cnt != 0 && r->bseat.cnt != 0) {
        return cd_json_fail(cd_json_get(r->json, "bseat"), CD_EEXIST, "only one of wseat and bseat", why);
    }
    return CD_OK;
}

static cd_err read_at(cd_rtb_req *r, cd_errinfo *why)
{
    CD_TRY(cd_rtb_f_int(&r->at, r->json, "at", why));
    bool is_known = r->at == 1 || r->at == 2 || r->at >= AT_OWN_MIN;
    if (cd_json_has(cd_json_get(r->json, "at")) && !is_known) {
        return cd_json_fail(cd_json_get(r->json, "at"), CD_ERANGE, "must be 1, 2 or 500 and more", why);
    }
    return CD_OK;
}

static cd_err read_wishes(cd_rtb_req *r, cd_errinfo *why)
{
    cd_json ext = cd_json_get(r->json, "ext");
    CD_TRY(cd_rtb_f_flag(&r->is_test, r->json, "test", why));
    return cd_rtb_f_flag(&r->wants_nbr, cd_json_get(ext, "adx"), "nbr", why);
}

cd_err cd_rtb_req_parse(cd_rtb_req *out, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_rtb_req r = {0};
    CD_TRY(cd_json_parse_deep(&r.json, a, text, CD_RTB_BODY_MAX, CD_RTB_DEPTH_MAX, why));
    CD_TRY(cd_json_obj(r.json, why));
    CD_TRY(wants_id(&r.id, r.json, why));
    CD_TRY(read_wishes(&r, why));
    CD_TRY(cd_rtb_f_count(&r.tmax, r.json, "tmax", why));
    CD_TRY(read_imps(&r, a, why));
    CD_TRY(check_place(&r, why));
    CD_TRY(read_device(&r, why));
    CD_TRY(check_geo(cd_json_get(r.json, "user"), why));
    CD_TRY(check_regs(r.json, why));
    CD_TRY(read_at(&r, why));
    CD_TRY(read_lists(&r, a, why));
    *out = r;
    return CD_OK;
}
