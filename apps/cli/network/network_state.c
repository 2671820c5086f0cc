#include "network/network_state.h"

#include "base/os/clock.h"
#include "base/os/fileio.h"
#include "chains/platform/genesis/config.h"
#include "codec/json.h"
#include "p2p/identity.h"

#include <stdio.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20, DIR_MODE = 0700, FILE_MODE = 0600 };

const char *cd__net_path(const cd__net *n, const cd__net_node *node, const char *name)
{
    return cd_arena_fmt(n->mem, "%s/%s%s%s", n->dir, node->name, name[0] == '\0' ? "" : "/", name);
}

static const char *file_of(cd_arena *mem, const char *dir)
{
    return cd_arena_fmt(mem, "%s/network.json", dir);
}

const cd__net_node *cd__net_shown(const cd__net *n)
{
    usize i = 0;
    while (i < n->cnt && n->nodes[i].is_go) {
        i++;
    }
    return i == n->cnt ? NULL : &n->nodes[i];
}

/* --- writing --- */

static void put_node(cd_json_w *w, const cd__net_node *x)
{
    cd_buf id = {0};
    cd_node_id_put(&id, &x->id);
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "name", x->name);
    cd_json_put_bool(w, "isGo", x->is_go);
    cd_json_put_bool(w, "validates", x->validates);
    cd_json_put_cstr(w, "nodeID", cd_buf_cstr(&id));
    cd_json_put_u64(w, "pid", x->pid);
    cd_json_put_u64(w, "httpPort", x->http_port);
    cd_json_put_u64(w, "stakingPort", x->staking_port);
    cd_json_put_u64(w, "group", x->group);
    cd_json_put_cstr(w, "tracks", x->tracks);
    cd_json_w_obj_end(w);
    cd_buf_fini(&id);
}

cd_err cd__net_save(const cd__net *n, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "program", n->program);
    cd_json_put_cstr(&w, "goProgram", n->go_program);
    cd_json_put_cstr(&w, "profile", n->profile);
    cd_json_w_key(&w, "nodes");
    cd_json_w_arr(&w);
    for (usize i = 0; i < n->cnt; i++) {
        put_node(&w, &n->nodes[i]);
    }
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
    cd_err e = cd_fs_replace_file(cd_fs_real(), file_of(n->mem, n->dir), cd_buf_bytes(&text), FILE_MODE, why);
    cd_buf_fini(&text);
    return e;
}

/* --- reading --- */

static cd_err get_text(const char **out, cd_arena *mem, cd_json v, const char *key, cd_errinfo *why)
{
    cd_bytes text;
    CD_TRY(cd_json_str(&text, cd_json_get(v, key), why));
    *out = cd_arena_str(mem, text);
    return CD_OK;
}

static cd_err get_port(u16 *out, cd_json v, const char *key, cd_errinfo *why)
{
    u64 port;
    CD_TRY(cd_json_u64(&port, cd_json_get(v, key), why));
    *out = (u16)port;
    return port <= UINT16_MAX ? CD_OK : cd_json_fail(v, CD_ERANGE, "not a port", why);
}

/* Can it be a node's name, which is also the name of a folder? */
static bool is_name(const char *s)
{
    usize n = strlen(s);
    bool is_good = n != 0 && n <= CD__NET_NAME_MAX;
    for (; *s != '\0'; s++) {
        is_good = is_good && ((*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9'));
    }
    return is_good;
}

static cd_err get_node(cd__net_node *out, cd_arena *mem, cd_json v, cd_errinfo *why)
{
    cd_bytes id;
    u64 group;
    CD_TRY(get_text(&out->name, mem, v, "name", why));
    CD_TRY(is_name(out->name) ? CD_OK : cd_json_fail(v, CD_EFORMAT, "not the name of a node", why));
    CD_TRY(cd_json_bool(&out->is_go, cd_json_get(v, "isGo"), why));
    CD_TRY(cd_json_bool(&out->validates, cd_json_get(v, "validates"), why));
    CD_TRY(cd_json_str(&id, cd_json_get(v, "nodeID"), why));
    CD_TRY(cd_node_id_parse(&out->id, id, why));
    CD_TRY(cd_json_u64(&out->pid, cd_json_get(v, "pid"), why));
    CD_TRY(get_port(&out->http_port, v, "httpPort", why));
    CD_TRY(get_port(&out->staking_port, v, "stakingPort", why));
    CD_TRY(cd_json_u64(&group, cd_json_get(v, "group"), why));
    out->group = (u32)group;
    out->tracks = "";
    bool has_tracks = cd_json_kind_of(cd_json_get(v, "tracks")) != CD_JSON_NONE; /* not in files of before */
    return has_tracks ? get_text(&out->tracks, mem, v, "tracks", why) : CD_OK;
}

static cd_err get_all(cd__net *n, cd_json v, cd_errinfo *why)
{
    cd_json nodes = cd_json_get(v, "nodes");
    CD_TRY(get_text(&n->program, n->mem, v, "program", why));
    CD_TRY(get_text(&n->go_program, n->mem, v, "goProgram", why));
    CD_TRY(get_text(&n->profile, n->mem, v, "profile", why));
    CD_TRY(cd_network_profile(&n->network, n->profile, why));
    CD_TRY(cd_json_arr(nodes, why));
    cd_json_it it = cd_json_iter(nodes);
    while (cd_json_next(&it)) {
        if (n->cnt == CD__NET_NODES_MAX) {
            return cd_json_fail(nodes, CD_ELIMIT, "too many nodes", why);
        }
        CD_TRY(get_node(&n->nodes[n->cnt++], n->mem, it.val, why));
    }
    return CD_OK;
}

cd_err cd__net_load(cd__net *out, cd_arena *mem, const char *dir, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_json v;
    *out = (cd__net){.mem = mem, .dir = dir, .network = cd_network_of(CD__NET_ID)};
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, file_of(mem, dir), FILE_MAX, why);
    if (e == CD_ENOENT) {
        e = cd_fail(why, CD_ENOENT, "there is no network in %.180s: candela-cli network up", dir);
    }
    e = e != CD_OK ? e : cd_json_parse(&v, mem, cd_arena_dup(mem, cd_buf_bytes(&text)), 0, why);
    e = e != CD_OK ? e : get_all(out, v, why);
    cd_buf_fini(&text);
    return e;
}

cd_err cd__net_find(cd__net *n, cd__net_node **out, const char *name, cd_errinfo *why)
{
    cd_buf names = {0};
    for (usize i = 0; i < n->cnt; i++) {
        if (strcmp(n->nodes[i].name, name) == 0) {
            *out = &n->nodes[i];
            cd_buf_fini(&names);
            return CD_OK;
        }
        cd_buf_fmt(&names, "%s%s", i == 0 ? "" : ", ", n->nodes[i].name);
    }
    cd_err e = cd_fail(why, CD_EINVAL, "there is no node \"%.40s\"; there are %.150s", name, cd_buf_cstr(&names));
    cd_buf_fini(&names);
    return e;
}

/* --- nodes with keys --- */

/* Makes a node's keys in the files in which the programs look for them. */
static cd_err make_keys(const cd__net *n, cd__net_node *x, cd_errinfo *why)
{
    const cd_p2p_identity_files files = {
        .cert = cd__net_path(n, x, "staking/staker.crt"),
        .key = cd__net_path(n, x, "staking/staker.key"),
        .signer = cd__net_path(n, x, "staking/signer.key"),
    };
    cd_p2p_identity id = {0};
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), cd__net_path(n, x, ""), DIR_MODE, why));
    cd_err e = cd_p2p_identity_open(&id, cd_fs_real(), &files, cd_clock_wall_ns(cd_clock_real()), why);
    x->id = id.node_id;
    cd_p2p_identity_close(&id);
    return e;
}

cd_err cd__net_configure(const cd__net *n, const cd__net_node *x, const char *chain, cd_errinfo *why)
{
    static const char text[] = "{\"warp-api-enabled\": true}\n";
    const char *dir = cd__net_path(n, x, cd_arena_fmt(n->mem, "configs/chains/%s", chain));
    const char *file = cd_arena_fmt(n->mem, "%s/config.json", dir);
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), dir, DIR_MODE, why));
    return access(file, F_OK) == 0 ? CD_OK : cd_fs_replace_file(cd_fs_real(), file, cd_bytes_str(text), FILE_MODE, why);
}

cd_err cd__net_grow(cd__net *n, usize cnt, bool are_go, bool validate, cd_errinfo *why)
{
    for (usize i = 0; i < cnt; i++) {
        if (n->cnt == CD__NET_NODES_MAX) {
            return cd_fail(why, CD_ELIMIT, "a network has at most %d nodes", CD__NET_NODES_MAX);
        }
        cd__net_node *x = &n->nodes[n->cnt++];
        *x = (cd__net_node){.name = cd_arena_fmt(n->mem, "node%zu", n->cnt),
                            .is_go = are_go,
                            .tracks = "",
                            .validates = validate,
                            .group = n->nodes[0].group};
        CD_TRY(make_keys(n, x, why));
        CD_TRY(cd__net_configure(n, x, "C", why));
    }
    return CD_OK;
}

static cd_err staker_of(cd_pgenesis_staker *out, const cd__net *n, const cd__net_node *x, const cd_addr20 *reward,
                        cd_errinfo *why)
{
    const cd_p2p_identity_files files = {
        .cert = cd__net_path(n, x, "staking/staker.crt"),
        .key = cd__net_path(n, x, "staking/staker.key"),
        .signer = cd__net_path(n, x, "staking/signer.key"),
    };
    cd_p2p_identity id = {0};
    cd_err e = cd_p2p_identity_open(&id, cd_fs_real(), &files, cd_clock_wall_ns(cd_clock_real()), why);
    *out = (cd_pgenesis_staker){
        .node_id = id.node_id, .reward_addr = *reward, .delegation_fee = 20000, .has_signer = true};
    memcpy(out->key, id.bls_public, sizeof out->key);
    memcpy(out->proof, id.bls_pop, sizeof out->proof);
    cd_p2p_identity_close(&id);
    return e;
}

cd_err cd__net_genesis(const cd__net *n, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_pgenesis_config c;
    u64 now = cd_clock_wall_s(cd_clock_real());
    cd_pgenesis_config_builtin(&c, n->mem, &n->network, now, (cd_bytes){0});
    cd_addr20 reward = c.stakers[0].reward_addr;
    c.start_time = now;
    c.stakers = cd_arena_array(n->mem, cd_pgenesis_staker, n->cnt);
    c.staker_cnt = n->cnt;
    for (usize i = 0; i < n->cnt; i++) {
        CD_TRY(staker_of(&c.stakers[i], n, &n->nodes[i], &reward, why));
    }
    cd_pgenesis_config_put(&text, &c, &n->network);
    const char *path = cd_arena_fmt(n->mem, "%s/genesis.json", n->dir);
    cd_err e = cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&text), FILE_MODE, why);
    cd_buf_fini(&text);
    return e;
}
