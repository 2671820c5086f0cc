#include "services/webhook/api/mask.h"

#include "codec/json.h"

const char *cd_wh_mask_url(cd_arena *mem, const char *url)
{
    return cd_arena_str(mem, cd_bytes_of(url, strcspn(url, "?")));
}

const char *cd_wh_mask_head(cd_arena *mem, const char *request)
{
    usize line = strcspn(request, "\r\n");
    usize query = strcspn(request, "?");
    if (query >= line) {
        return request;
    }
    usize rest = query + strcspn(request + query, " \r\n");
    return cd_arena_fmt(mem, "%.*s%s", (int)query, request, request + rest);
}

static void mask_settings(cd_arena *mem, cd_wh_hook *hook)
{
    cd_json settings;
    cd_bytes url;
    if (hook->settings.n == 0 || cd_json_parse(&settings, mem, hook->settings, 0, NULL) != CD_OK ||
        cd_json_str(&url, cd_json_get(settings, "ops_url"), NULL) != CD_OK) {
        return;
    }
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    for (cd_json_it it = cd_json_iter(settings); cd_json_next(&it);) {
        cd_json_w_key(&w, cd_arena_str(mem, it.key));
        if (cd_bytes_eq(it.key, cd_bytes_str("ops_url"))) {
            cd_json_w_cstr(&w, cd_wh_mask_url(mem, cd_arena_str(mem, url)));
        } else {
            cd_json_raw(w.out, it.val);
            w.comma = true;
        }
    }
    cd_json_w_obj_end(&w);
    hook->settings = cd_arena_dup(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

void cd_wh_mask_hook(cd_arena *mem, cd_wh_hook *hook)
{
    hook->url = cd_wh_mask_url(mem, hook->url);
    mask_settings(mem, hook);
}
