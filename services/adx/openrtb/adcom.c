#include "services/adx/openrtb/adcom.h"

/* A member and its name in 2.x; NULL: the same. */
typedef struct name {
    const char *from, *to;
    bool is_list; /* 2.x wants an array of it */
} name;

static const name of_request[] = {{"id", NULL, false},  {"test", NULL, false},        {"tmax", NULL, false},
                                  {"at", NULL, false},  {"cur", NULL, false},         {"source", NULL, false},
                                  {"ext", NULL, false}, {"package", "allimps", false}};
static const name of_item[] = {{"id", NULL, false},
                               {"qty", NULL, false},
                               {"flr", "bidfloor", false},
                               {"flrcur", "bidfloorcur", false},
                               {"exp", NULL, false}};
static const name of_deal[] = {{"id", NULL, false}, {"flr", "bidfloor", false}, {"flrcur", "bidfloorcur", false},
                               {"at", NULL, false}, {"wseat", NULL, false},     {"wadomain", NULL, false}};
static const name of_placement[] = {
    {"tagid", NULL, false}, {"ssai", NULL, false}, {"secure", NULL, false}, {"reward", "rwdd", false}};
static const name of_video[] = {{"ptype", "plcmt", false},
                                {"pos", NULL, false},
                                {"delay", "startdelay", false},
                                {"skip", NULL, false},
                                {"skipmin", NULL, false},
                                {"skipafter", NULL, false},
                                {"playmethod", "playbackmethod", true},
                                {"playend", "playbackend", false},
                                {"mime", "mimes", false},
                                {"api", NULL, false},
                                {"ctype", "protocols", false},
                                {"w", NULL, false},
                                {"h", NULL, false},
                                {"mindur", "minduration", false},
                                {"maxdur", "maxduration", false},
                                {"rqddurs", NULL, false},
                                {"maxext", "maxextended", false},
                                {"minbitr", "minbitrate", false},
                                {"maxbitr", "maxbitrate", false},
                                {"delivery", NULL, false},
                                {"maxseq", NULL, false},
                                {"poddur", NULL, false},
                                {"podid", NULL, false},
                                {"podseq", NULL, false},
                                {"slotinpod", NULL, false},
                                {"mincpmpersec", NULL, false},
                                {"linear", "linearity", false},
                                {"boxing", "boxingallowed", false},
                                {"comp", "companionad", false},
                                {"comptype", "companiontype", false}};
static const name of_display[] = {{"displayfmt", "format", false}, {"w", NULL, false},   {"h", NULL, false},
                                  {"mime", "mimes", false},        {"pos", NULL, false}, {"api", NULL, false}};
static const name of_context[] = {{"user", NULL, false}, {"regs", NULL, false}, {"dooh", NULL, false}};
static const name of_restrictions[] = {
    {"bcat", NULL, false}, {"cattax", NULL, false}, {"badv", NULL, false}, {"bapp", NULL, false}};
static const name of_device[] = {{"type", "devicetype", false}, {"lang", "language", false}};
static const name of_place[] = {{"pub", "publisher", false}};

static void put_value(cd_json_w *w, cd_json v)
{
    cd_json_w_raw(w, (cd_bytes){0}); // the comma
    cd_json_raw(w->out, v);
}

static void put_named(cd_json_w *w, cd_json obj, const name *n, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        cd_json v = cd_json_get(obj, n[i].from);
        if (!cd_json_has(v)) {
            continue;
        }
        bool wraps = n[i].is_list && cd_json_kind_of(v) != CD_JSON_ARR;
        cd_json_w_key(w, n[i].to == NULL ? n[i].from : n[i].to);
        if (wraps) {
            cd_json_w_arr(w);
        }
        put_value(w, v);
        if (wraps) {
            cd_json_w_arr_end(w);
        }
    }
}

/* An object whose members pass, some under other names. */
static void put_renamed(cd_json_w *w, const char *key, cd_json obj, const name *n, usize cnt)
{
    if (!cd_json_has(obj)) {
        return;
    }
    cd_json_w_key(w, key);
    cd_json_w_obj(w);
    for (cd_json_it it = cd_json_iter(obj); cd_json_next(&it);) {
        bool is_named = false;
        for (usize i = 0; i < cnt; i++) {
            is_named = is_named || cd_bytes_eq(it.key, cd_bytes_str(n[i].from));
        }
        if (!is_named) {
            cd_json_w_key_str(w, it.key);
            put_value(w, it.val);
        }
    }
    put_named(w, obj, n, cnt);
    cd_json_w_obj_end(w);
}

static void put_medium(cd_json_w *w, const char *key, cd_json v, const name *n, usize cnt, cd_json battr)
{
    if (!cd_json_has(v)) {
        return;
    }
    cd_json_w_key(w, key);
    cd_json_w_obj(w);
    put_named(w, v, n, cnt);
    if (cd_json_has(battr)) {
        cd_json_w_key(w, "battr");
        put_value(w, battr);
    }
    cd_json_w_obj_end(w);
}

static void put_pmp(cd_json_w *w, cd_json item)
{
    cd_json deals = cd_json_get(item, "deal");
    cd_json is_private = cd_json_get(item, "private");
    if (!cd_json_has(deals) && !cd_json_has(is_private)) {
        return;
    }
    cd_json_w_key(w, "pmp");
    cd_json_w_obj(w);
    if (cd_json_has(is_private)) {
        cd_json_w_key(w, "private_auction");
        put_value(w, is_private);
    }
    cd_json_w_key(w, "deals");
    cd_json_w_arr(w);
    for (cd_json_it it = cd_json_iter(deals); cd_json_next(&it);) {
        cd_json_w_obj(w);
        put_named(w, it.val, of_deal, CD_COUNT(of_deal));
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
}

static cd_err put_item(cd_json_w *w, cd_json item, cd_json battr, cd_errinfo *why)
{
    cd_json p = cd_json_get(cd_json_get(item, "spec"), "placement");
    CD_TRY(cd_json_obj(p, why));
    cd_json_w_obj(w);
    put_named(w, item, of_item, CD_COUNT(of_item));
    put_named(w, p, of_placement, CD_COUNT(of_placement));
    put_medium(w, "video", cd_json_get(p, "video"), of_video, CD_COUNT(of_video), battr);
    put_medium(w, "audio", cd_json_get(p, "audio"), of_video, CD_COUNT(of_video), battr);
    put_medium(w, "banner", cd_json_get(p, "display"), of_display, CD_COUNT(of_display), battr);
    put_pmp(w, item);
    cd_json_w_obj_end(w);
    return CD_OK;
}

/* A list of seats is one of those allowed, unless wseat is 0. */
static void put_seats(cd_json_w *w, cd_json req)
{
    cd_json seats = cd_json_get(req, "seat");
    cd_json mode = cd_json_get(req, "wseat");
    u64 is_allow = 1;
    if (!cd_json_has(seats)) {
        return;
    }
    if (cd_json_has(mode) && cd_json_u64(&is_allow, mode, NULL) != CD_OK) {
        is_allow = 1;
    }
    cd_json_w_key(w, is_allow != 0 ? "wseat" : "bseat");
    put_value(w, seats);
}

static cd_err put_request(cd_json_w *w, cd_json req, cd_errinfo *why)
{
    cd_json context = cd_json_get(req, "context");
    cd_json limits = cd_json_get(context, "restrictions");
    cd_json_w_obj(w);
    put_named(w, req, of_request, CD_COUNT(of_request));
    put_seats(w, req);
    put_named(w, context, of_context, CD_COUNT(of_context));
    put_renamed(w, "device", cd_json_get(context, "device"), of_device, CD_COUNT(of_device));
    put_renamed(w, "site", cd_json_get(context, "site"), of_place, CD_COUNT(of_place));
    put_renamed(w, "app", cd_json_get(context, "app"), of_place, CD_COUNT(of_place));
    put_named(w, limits, of_restrictions, CD_COUNT(of_restrictions));
    cd_json_w_key(w, "imp");
    cd_json_w_arr(w);
    for (cd_json_it it = cd_json_iter(cd_json_get(req, "item")); cd_json_next(&it);) {
        CD_TRY(put_item(w, it.val, cd_json_get(limits, "battr"), why));
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
    return CD_OK;
}

static cd_err check_root(cd_json root, cd_errinfo *why)
{
    cd_bytes ver = {0};
    cd_bytes domain = {0};
    CD_TRY(cd_json_obj(root, why));
    if (cd_json_has(cd_json_get(root, "ver"))) {
        CD_TRY(cd_json_str(&ver, cd_json_get(root, "ver"), why));
    }
    if (cd_json_has(cd_json_get(root, "domainspec"))) {
        CD_TRY(cd_json_str(&domain, cd_json_get(root, "domainspec"), why));
    }
    if ((ver.n != 0 && ver.p[0] != '3') || (domain.n != 0 && !cd_bytes_eq(domain, cd_bytes_str("adcom")))) {
        return cd_json_fail(root, CD_EVERSION, "must be 3.0 with adcom", why);
    }
    return cd_json_obj(cd_json_get(root, "request"), why);
}

cd_err cd_adcom_down(cd_buf *out, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_json doc;
    usize before = out->n;
    cd_json_w w = {.out = out};
    CD_TRY(cd_json_parse_deep(&doc, a, text, CD_RTB_BODY_MAX, CD_RTB_DEPTH_MAX, why));
    cd_json root = cd_json_get(doc, "openrtb");
    CD_TRY(check_root(root, why));
    cd_err err = put_request(&w, cd_json_get(root, "request"), why);
    if (err != CD_OK) {
        out->n = before;
    }
    return err;
}

bool cd_adcom_is_root(cd_bytes text)
{
    static const char key[] = "\"openrtb\"";
    usize i = 0;
    while (i < text.n &&
           (text.p[i] == ' ' || text.p[i] == '{' || text.p[i] == '\n' || text.p[i] == '\t' || text.p[i] == '\r')) {
        i++;
    }
    return text.n - i >= sizeof key - 1 && memcmp(text.p + i, key, sizeof key - 1) == 0;
}
