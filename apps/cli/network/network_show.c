#include "network/network_show.h"

#include "network/network_ask.h"
#include "network/network_run.h"

static void put_word(cd_json_w *w, const cd__net *n, const cd__net_node *x)
{
    cd__net_word word;
    cd__net_ask(&word, n, x);
    cd_json_put_cstr(w, "uri", cd_arena_fmt(n->mem, "http://127.0.0.1:%u", x->http_port));
    cd_json_put_cstr(w, "stakingAddress", cd_arena_fmt(n->mem, "127.0.0.1:%u", x->staking_port));
    cd_json_put_bool(w, "isHealthy", word.is_healthy);
    if (word.has_peers) {
        cd_json_put_u64(w, "peers", word.peers);
    }
    if (word.has_heights) {
        cd_json_w_key(w, "heights");
        cd_json_w_obj(w);
        cd_json_put_u64(w, "P", word.heights[0]);
        cd_json_put_u64(w, "X", word.heights[1]);
        cd_json_put_u64(w, "C", word.heights[2]);
        cd_json_w_obj_end(w);
    }
    if (x == cd__net_shown(n)) {
        cd_json_put_cstr(w, "explorer", cd_arena_fmt(n->mem, "http://127.0.0.1:%u/explorer", x->http_port));
    }
}

static void put_node(cd_json_w *w, const cd__net *n, const cd__net_node *x)
{
    static const char *const lives[] = {"down", "running", "paused"};
    cd_buf id = {0};
    cd__net_life life = cd__net_life_of(n, x);
    cd_node_id_put(&id, &x->id);
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "name", x->name);
    cd_json_put_cstr(w, "nodeID", cd_buf_cstr(&id));
    cd_json_put_cstr(w, "program", x->is_go ? "go" : "candela");
    cd_json_put_bool(w, "validates", x->validates);
    cd_json_put_cstr(w, "state", lives[life]);
    if (x->group != 0) {
        cd_json_put_u64(w, "group", x->group);
    }
    if (life == CD__NET_RUNS) {
        put_word(w, n, x);
    }
    if (life != CD__NET_DOWN) {
        cd_json_put_u64(w, "pid", x->pid);
    }
    cd_json_put_cstr(w, "log", cd__net_path(n, x, "out.log"));
    cd_json_w_obj_end(w);
    cd_buf_fini(&id);
}

void cd__net_put_status(cd_json_w *w, const cd__net *n)
{
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "dir", n->dir);
    cd_json_put_u64(w, "networkID", n->network.id);
    cd_json_put_cstr(w, "profile", n->profile);
    cd_json_w_key(w, "nodes");
    cd_json_w_arr(w);
    for (usize i = 0; i < n->cnt; i++) {
        put_node(w, n, &n->nodes[i]);
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
}
