#include "relay/place.h"

#include "base/mem/mem.h"
#include "codec/json.h"

enum { FILE_MAX = 1 << 20, VERSION = 1 };

static cd_err read_place(cd_relay_place *out, cd_json v, cd_errinfo *why)
{
    CD_TRY(cd_json_fixed(out->source.b, sizeof out->source.b, cd_json_get(v, "source"), why));
    CD_TRY(cd_json_fixed(out->destination.b, sizeof out->destination.b, cd_json_get(v, "destination"), why));
    CD_TRY(cd_json_fixed(out->messenger.b, sizeof out->messenger.b, cd_json_get(v, "messenger"), why));
    CD_TRY(cd_json_u64(&out->at.block, cd_json_get(v, "block"), why));
    return cd_json_u64(&out->at.log, cd_json_get(v, "log"), why);
}

static cd_err read_file(cd_relay_places *out, cd_arena *mem, cd_bytes text, cd_errinfo *why)
{
    cd_json doc;
    u64 version;
    CD_TRY(cd_json_parse(&doc, mem, text, FILE_MAX, why));
    CD_TRY(cd_json_u64(&version, cd_json_get(doc, "version"), why));
    cd_json list = cd_json_get(doc, "routes");
    CD_TRY(cd_json_arr(list, why));
    usize cnt = cd_json_len(list);
    if (version != VERSION || cnt > CD_RELAY_PLACES_MAX) {
        return cd_fail(why, CD_EVERSION, "version %llu, %zu routes: not a file of this version",
                       (unsigned long long)version, cnt);
    }
    cd_relay_place *places = cd_new_array(cd_relay_place, cnt);
    cd_err e = CD_OK;
    usize i = 0;
    for (cd_json_it it = cd_json_iter(list); cd_json_next(&it) && e == CD_OK; i++) {
        e = read_place(&places[i], it.val, why);
    }
    if (e != CD_OK) {
        cd_free(places);
        return e;
    }
    *out = (cd_relay_places){.list = places, .cnt = cnt};
    return CD_OK;
}

cd_err cd_relay_places_load(cd_relay_places *out, cd_fs *fs, const char *path, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_arena mem = {0};
    cd_errinfo inner = {0};
    *out = (cd_relay_places){0};
    cd_err e = cd_fs_read_file(fs, &text, path, FILE_MAX, why);
    if (e == CD_OK) {
        e = read_file(out, &mem, cd_buf_bytes(&text), &inner);
        e = e == CD_OK ? CD_OK : cd_fail(why, CD_EFORMAT, "%s: %s", path, inner.msg);
    } else if (e == CD_ENOENT) {
        e = CD_OK;
    }
    cd_buf_fini(&text);
    cd_arena_fini(&mem);
    return e;
}

cd_err cd_relay_places_save(const cd_relay_places *p, cd_fs *fs, const char *path, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    cd_json_put_u64(&w, "version", VERSION);
    cd_json_w_key(&w, "routes");
    cd_json_w_arr(&w);
    for (usize i = 0; i < p->cnt; i++) {
        const cd_relay_place *r = &p->list[i];
        cd_json_w_obj(&w);
        cd_json_put_hash(&w, "source", &r->source);
        cd_json_put_hash(&w, "destination", &r->destination);
        cd_json_put_hex(&w, "messenger", cd_bytes_of(r->messenger.b, sizeof r->messenger.b));
        cd_json_put_u64(&w, "block", r->at.block);
        cd_json_put_u64(&w, "log", r->at.log);
        cd_json_w_obj_end(&w);
    }
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
    cd_buf_u8(&text, '\n');
    cd_err e = cd_fs_replace_file(fs, path, cd_buf_bytes(&text), 0644, why);
    cd_buf_fini(&text);
    return e;
}

void cd_relay_places_fini(cd_relay_places *p)
{
    cd_free(p->list);
    *p = (cd_relay_places){0};
}

static cd_relay_place *find(const cd_relay_places *p, const cd_relay_place *route)
{
    for (usize i = 0; i < p->cnt; i++) {
        cd_relay_place *r = &p->list[i];
        if (cd_hash32_eq(&r->source, &route->source) && cd_hash32_eq(&r->destination, &route->destination) &&
            memcmp(r->messenger.b, route->messenger.b, sizeof r->messenger.b) == 0) {
            return r;
        }
    }
    return NULL;
}

const cd_relay_place *cd_relay_places_find(const cd_relay_places *p, const cd_relay_place *route)
{
    return find(p, route);
}

bool cd_relay_places_put(cd_relay_places *p, const cd_relay_place *route)
{
    cd_relay_place *r = find(p, route);
    if (r != NULL && r->at.block == route->at.block && r->at.log == route->at.log) {
        return false;
    }
    if (r == NULL) {
        p->list = cd_realloc(p->list, (p->cnt + 1) * sizeof *p->list);
        r = &p->list[p->cnt++];
    }
    *r = *route;
    return true;
}
