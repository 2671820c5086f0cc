#include "l1/l1_plan.h"

#include "base/os/fileio.h"
#include "base/text.h"
#include "codec/api_json.h"

#include <stdio.h>

enum { FILE_MAX = 8 << 20, FILE_MODE = 0600, DIR_MODE = 0700, NAME_MAX_LEN = 64 };

static const char *const step_names[CD__L1_STEPS] = {"net", "chain", "conversion"};

cd_err cd__l1_plan_path(const char **out, cd_arena *mem, const char *dir, const char *name, cd_errinfo *why)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    usize n = strlen(name);
    bool is_good = n != 0 && n <= NAME_MAX_LEN;
    for (usize i = 0; i < n && is_good; i++) {
        is_good = cd_text_is_in((u8)name[i], letters);
    }
    if (!is_good) {
        return cd_fail(why, CD_EINVAL, "a name has letters, digits, - and _, %d of them at most", NAME_MAX_LEN);
    }
    *out = cd_arena_fmt(mem, "%s/%s.json", dir, name);
    return CD_OK;
}

/* --- reading --- */

static cd_err text_of(const char **out, cd_arena *mem, cd_json v, const char *name, cd_errinfo *why)
{
    cd_bytes text;
    CD_TRY(cd_json_str(&text, cd_json_get(v, name), why));
    *out = cd_arena_str(mem, text);
    return CD_OK;
}

static cd_err read_first(cd__l1_first *f, cd_arena *mem, cd_json v, cd_errinfo *why)
{
    CD_TRY(text_of(&f->url, mem, v, "url", why));
    CD_TRY(text_of(&f->node, mem, v, "nodeID", why));
    CD_TRY(text_of(&f->key, mem, v, "publicKey", why));
    CD_TRY(text_of(&f->proof, mem, v, "proofOfPossession", why));
    CD_TRY(cd_json_u64(&f->weight, cd_json_get(v, "weight"), why));
    return text_of(&f->balance, mem, v, "balance", why);
}

static cd_err read_step(cd__l1_step_done *s, cd_arena *mem, cd_json v, cd_errinfo *why)
{
    cd_bytes id;
    s->tx = "";
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(text_of(&s->tx, mem, v, "tx", why));
    CD_TRY(cd_json_str(&id, cd_json_get(v, "txID"), why));
    CD_TRY(cd_id_parse(&s->id, id, why));
    return cd_json_bool(&s->is_accepted, cd_json_get(v, "accepted"), why);
}

static cd_err read_plan(cd__l1_plan *p, cd_arena *mem, cd_json v, cd_errinfo *why)
{
    u64 network;
    cd_json list = cd_json_get(v, "validators");
    CD_TRY(text_of(&p->name, mem, v, "name", why));
    CD_TRY(cd_json_u64(&network, cd_json_get(v, "networkID"), why));
    p->network_id = (u32)network;
    CD_TRY(text_of(&p->genesis, mem, v, "genesis", why));
    CD_TRY(cd_json_fixed(p->manager.b, sizeof p->manager.b, cd_json_get(v, "manager"), why));
    CD_TRY(text_of(&p->network_dir, mem, v, "networkDir", why));
    CD_TRY(text_of(&p->track, mem, v, "track", why));
    CD_TRY(cd_json_arr(list, why));
    for (cd_json_it it = cd_json_iter(list); cd_json_next(&it);) {
        if (p->first_cnt == CD__L1_NODES_MAX) {
            return cd_fail(why, CD_ELIMIT, "more than %d validators", CD__L1_NODES_MAX);
        }
        CD_TRY(read_first(&p->firsts[p->first_cnt++], mem, it.val, why));
    }
    for (usize i = 0; i < CD__L1_STEPS; i++) {
        CD_TRY(read_step(&p->steps[i], mem, cd_json_get(v, step_names[i]), why));
    }
    return cd_json_bool(&p->is_initialized, cd_json_get(v, "initialized"), why);
}

cd_err cd__l1_plan_load(cd__l1_plan *out, cd_arena *mem, const char *path, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_json v;
    cd_errinfo said = {0};
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, FILE_MAX, why);
    cd_bytes copy = cd_arena_dup(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    CD_TRY(e);
    *out = (cd__l1_plan){.path = path};
    e = cd_json_parse(&v, mem, copy, FILE_MAX, &said);
    e = e != CD_OK ? e : read_plan(out, mem, v, &said);
    return e == CD_OK ? CD_OK : cd_fail(why, CD_EFORMAT, "%.120s: %.120s", path, said.msg);
}

/* --- writing --- */

static void put_first(cd_json_w *w, const cd__l1_first *f)
{
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "url", f->url);
    cd_json_put_cstr(w, "nodeID", f->node);
    cd_json_put_cstr(w, "publicKey", f->key);
    cd_json_put_cstr(w, "proofOfPossession", f->proof);
    cd_json_put_u64(w, "weight", f->weight);
    cd_json_put_cstr(w, "balance", f->balance);
    cd_json_w_obj_end(w);
}

static void put_step(cd_json_w *w, const char *name, const cd__l1_step_done *s)
{
    if (s->tx[0] != '\0') {
        cd_json_w_key(w, name);
        cd_json_w_obj(w);
        cd_json_put_cstr(w, "tx", s->tx);
        cd_json_put_id(w, "txID", &s->id);
        cd_json_put_bool(w, "accepted", s->is_accepted);
        cd_json_w_obj_end(w);
    }
}

cd_err cd__l1_plan_save(const cd__l1_plan *p, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "name", p->name);
    cd_json_put_u64(&w, "networkID", p->network_id);
    cd_json_put_cstr(&w, "genesis", p->genesis);
    cd_json_put_hex(&w, "manager", cd_bytes_of(p->manager.b, sizeof p->manager.b));
    cd_json_put_cstr(&w, "networkDir", p->network_dir);
    cd_json_put_cstr(&w, "track", p->track);
    cd_json_w_key(&w, "validators");
    cd_json_w_arr(&w);
    for (usize i = 0; i < p->first_cnt; i++) {
        put_first(&w, &p->firsts[i]);
    }
    cd_json_w_arr_end(&w);
    for (usize i = 0; i < CD__L1_STEPS; i++) {
        put_step(&w, step_names[i], &p->steps[i]);
    }
    cd_json_put_bool(&w, "initialized", p->is_initialized);
    cd_json_w_obj_end(&w);
    const char *slash = strrchr(p->path, '/');
    char dir[4096];
    (void)snprintf(dir, sizeof dir, "%.*s", (int)(slash - p->path), p->path);
    cd_err e = cd_fs_mkdirs(cd_fs_real(), dir, DIR_MODE, why);
    e = e != CD_OK ? e : cd_fs_replace_file(cd_fs_real(), p->path, cd_buf_bytes(&text), FILE_MODE, why);
    cd_buf_fini(&text);
    return e;
}

/* --- L1s by their names --- */

const char *cd__l1_plan_url(const cd__l1_plan *p)
{
    const char *url = "";
    for (usize i = 0; i < p->first_cnt && url[0] == '\0'; i++) {
        url = p->firsts[i].url;
    }
    return url;
}

cd_err cd__l1_net_read(cd_hash32 *out, cd__l1_plan **plan, cd_arena *mem, const char *dir, const char *word,
                       cd_errinfo *why)
{
    const char *path;
    cd_errinfo said = {0};
    cd__l1_plan *p = cd_arena_zalloc(mem, sizeof *p);
    cd_err e = cd__l1_plan_path(&path, mem, dir, word, &said);
    e = e != CD_OK ? CD_ENOENT : cd__l1_plan_load(p, mem, path, &said);
    if (plan != NULL) {
        *plan = e == CD_OK ? p : NULL;
    }
    if (e == CD_ENOENT) {
        cd_err bad = cd_id_parse(out, cd_bytes_str(word), NULL);
        return bad == CD_OK ? CD_OK
                            : cd_fail(why, CD_EINVAL, "\"%.80s\" is neither a net's ID nor an L1 of %.120s", word, dir);
    }
    if (e == CD_OK && !p->steps[CD__L1_NET].is_accepted) {
        return cd_fail(why, CD_EINVAL, "%s has no net yet: candela-cli l1 create goes on with it", word);
    }
    *out = p->steps[CD__L1_NET].id;
    return e == CD_OK ? CD_OK : cd_fail(why, e, "%s", said.msg);
}

cd_err cd__l1_net(cd__l1_job *j, cd_hash32 *out, const char *word, cd_errinfo *why)
{
    cd__l1_plan *p;
    CD_TRY(cd__l1_net_read(out, &p, j->mem, cd_args_path(j->args, j->mem, L1_STATE), word, why));
    return p == NULL || cd_args_str(j->args, L1_CHAIN_RPC)[0] != '\0' ? CD_OK
                                                                      : cd__l1_chain_at(j, cd__l1_plan_url(p), why);
}
