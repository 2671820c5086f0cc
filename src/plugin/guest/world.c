#include "plugin/guest/world_priv.h"

#include "plugin/wire/wire.h"
#include "types/warp.h"

#include <stdlib.h>

enum { TIMEOUT_MS = 10000, KEY_LEN = 96, NODE_LEN = 20, APP_FAILED = -1 };

static cd_err ask(cd_grpc_client *c, cd_bytes *answer, cd_arena *a, const char *path, cd_buf *msg, cd_errinfo *why)
{
    cd_buf reply = {0};
    cd_err err = cd_grpc_call_wait(c, &reply, path, msg, TIMEOUT_MS, NULL, why);
    if (err == CD_OK) {
        *answer = cd_arena_dup(a, cd_buf_bytes(&reply));
    }
    cd_buf_fini(&reply);
    cd_buf_fini(msg);
    return err;
}

/* An error of Go travels without a code: only its text tells that nothing was found. */
static cd_err err_of(cd_err e, const cd_errinfo *why)
{
    bool is_absent = strstr(why->msg, "not found") != NULL || strstr(why->msg, cd_err_str(CD_ENOENT)) != NULL;
    return e != CD_OK && is_absent ? CD_ENOENT : e;
}

/* --- who validates --- */

static cd__guest_world *of_validators(const cd_vm_validators *v)
{
    return (cd__guest_world *)(void *)((u8 *)(usize)(const void *)v - offsetof(cd__guest_world, validators));
}

static cd_err ask_height(const cd_vm_validators *v, u64 *height, const char *path)
{
    cd_wire_val_height said = {0};
    cd_arena a = {0};
    cd_buf msg = {0};
    cd_bytes answer;
    cd_err e = ask(of_validators(v)->client, &answer, &a, path, &msg, NULL);
    e = e != CD_OK ? e : CD_WIRE_PARSE(&said, val_height, &a, answer, NULL);
    *height = said.height;
    cd_arena_fini(&a);
    return e;
}

static cd_err current(const cd_vm_validators *v, u64 *height)
{
    return ask_height(v, height, "/validatorstate.ValidatorState/GetCurrentHeight");
}

static cd_err minimum(const cd_vm_validators *v, u64 *height)
{
    return ask_height(v, height, "/validatorstate.ValidatorState/GetMinimumHeight");
}

static cd_err subnet_of(const cd_vm_validators *v, cd_hash32 *subnet, const cd_hash32 *chain)
{
    const cd_wire_val_id req = {.id = cd_bytes_of(chain->b, sizeof chain->b)};
    cd_wire_val_id said = {0};
    cd_errinfo why = {0};
    cd_arena a = {0};
    cd_buf msg = {0};
    cd_bytes answer;
    CD_WIRE_PUT(&msg, val_id, &req);
    cd_err e = ask(of_validators(v)->client, &answer, &a, "/validatorstate.ValidatorState/GetSubnetID", &msg, &why);
    e = e != CD_OK ? err_of(e, &why) : CD_WIRE_PARSE(&said, val_id, &a, answer, NULL);
    e = e != CD_OK || said.id.n == sizeof subnet->b ? e : CD_EFORMAT;
    if (e == CD_OK) {
        memcpy(subnet->b, said.id.p, sizeof subnet->b);
    }
    cd_arena_fini(&a);
    return e;
}

static cd_err read_validator(cd_vm_validator *out, const cd_wire_validator *w)
{
    if (w->node_id.n != NODE_LEN || (w->public_key.n != 0 && w->public_key.n != KEY_LEN)) {
        return CD_EFORMAT;
    }
    memcpy(out->node_id.b, w->node_id.p, NODE_LEN);
    out->weight = w->weight;
    out->has_key = w->public_key.n != 0;
    if (out->has_key) {
        memcpy(out->key, w->public_key.p, KEY_LEN);
    }
    return CD_OK;
}

static int by_node(const void *a, const void *b)
{
    return memcmp(&((const cd_vm_validator *)a)->node_id, &((const cd_vm_validator *)b)->node_id, sizeof(cd_node_id));
}

/* Go's answer is in the order of a hash table. */
static cd_err at(const cd_vm_validators *v, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                 const cd_hash32 *subnet, u64 height)
{
    const cd_wire_val_at req = {.height = height, .subnet_id = cd_bytes_of(subnet->b, sizeof subnet->b)};
    cd_wire_val_set said = {0};
    cd_errinfo why = {0};
    cd_buf msg = {0};
    cd_bytes answer;
    CD_WIRE_PUT(&msg, val_at, &req);
    cd_err e = ask(of_validators(v)->client, &answer, a, "/validatorstate.ValidatorState/GetValidatorSet", &msg, &why);
    CD_TRY(e);
    CD_TRY(CD_WIRE_PARSE(&said, val_set, a, answer, NULL));
    const cd_wire_validator *rows = said.validators.v;
    cd_vm_validator *all = cd_arena_array(a, cd_vm_validator, said.validators.cnt);
    for (u32 i = 0; i < said.validators.cnt; i++) {
        CD_TRY(read_validator(&all[i], &rows[i]));
    }
    if (said.validators.cnt != 0) {
        qsort(all, said.validators.cnt, sizeof *all, by_node);
    }
    *out = all;
    *cnt = said.validators.cnt;
    return CD_OK;
}

/* --- the node's signature --- */

static cd_err sign(const cd_vm_signer *s, u8 out[96], cd_bytes message)
{
    cd__guest_world *w = (cd__guest_world *)(void *)((u8 *)(usize)(const void *)s - offsetof(cd__guest_world, signer));
    cd_warp_unsigned m;
    cd_wire_warp_signature said = {0};
    cd_arena a = {0};
    cd_buf msg = {0};
    cd_bytes answer;
    CD_TRY(cd_warp_unsigned_dec(&m, message));
    const cd_wire_warp_sign req = {.network_id = m.network_id,
                                   .source_chain_id = cd_bytes_of(m.source_chain.b, sizeof m.source_chain.b),
                                   .payload = m.payload};
    CD_WIRE_PUT(&msg, warp_sign, &req);
    cd_err e = ask(w->client, &answer, &a, "/warp.Signer/Sign", &msg, NULL);
    e = e != CD_OK ? e : CD_WIRE_PARSE(&said, warp_signature, &a, answer, NULL);
    e = e != CD_OK || said.signature.n == CD_WARP_SIG_LEN ? e : CD_EFORMAT;
    if (e == CD_OK) {
        memcpy(out, said.signature.p, CD_WARP_SIG_LEN);
    }
    cd_arena_fini(&a);
    return e;
}

/* --- messages to other nodes --- */

static cd__guest_world *of_sender(const cd_vm_sender *s)
{
    return (cd__guest_world *)(void *)((u8 *)(usize)(const void *)s - offsetof(cd__guest_world, sender));
}

static cd_err send(const cd_vm_sender *s, const char *path, cd_buf *msg)
{
    cd_arena a = {0};
    cd_bytes answer;
    cd_err e = ask(of_sender(s)->client, &answer, &a, path, msg, NULL);
    cd_arena_fini(&a);
    return e;
}

static cd_bytes bytes_of(const cd_node_id *node)
{
    return cd_bytes_of(node->b, sizeof node->b);
}

static void send_request(const cd_vm_sender *s, const cd_node_id *to, u32 request_id, cd_bytes msg)
{
    const cd__guest_world *w = of_sender(s);
    const cd_bytes node = bytes_of(to);
    const cd_wire_send_request m = {.node_ids = cd_wire_list(&node, 1), .request_id = request_id, .request = msg};
    cd_buf text = {0};
    CD_WIRE_PUT(&text, send_request, &m);
    if (send(s, "/appsender.AppSender/SendAppRequest", &text) != CD_OK) {
        w->failed(w->ctx, to, request_id, APP_FAILED, cd_bytes_str("the node does not take it"));
    }
}

static void send_response(const cd_vm_sender *s, const cd_node_id *to, u32 request_id, cd_bytes msg)
{
    const cd_wire_send_response m = {.node_id = bytes_of(to), .request_id = request_id, .response = msg};
    cd_buf text = {0};
    CD_WIRE_PUT(&text, send_response, &m);
    (void)!send(s, "/appsender.AppSender/SendAppResponse", &text);
}

static void send_error(const cd_vm_sender *s, const cd_node_id *to, u32 request_id, i32 code, cd_bytes message)
{
    const cd_wire_send_error m = {
        .node_id = bytes_of(to), .request_id = request_id, .error_code = code, .error_message = message};
    cd_buf text = {0};
    CD_WIRE_PUT(&text, send_error, &m);
    (void)!send(s, "/appsender.AppSender/SendAppError", &text);
}

static void send_gossip(const cd_vm_sender *s, const cd_vm_gossip_to *to, cd_bytes msg)
{
    cd_arena a = {0};
    cd_buf text = {0};
    cd_bytes *nodes = cd_arena_array(&a, cd_bytes, to->node_cnt);
    for (usize i = 0; i < to->node_cnt; i++) {
        nodes[i] = bytes_of(&to->nodes[i]);
    }
    const cd_wire_send_gossip m = {
        .node_ids = cd_wire_list(nodes, to->node_cnt),
        .validators = to->validators,
        .non_validators = to->non_validators,
        .peers = to->peers,
        .msg = msg,
    };
    CD_WIRE_PUT(&text, send_gossip, &m);
    (void)!send(s, "/appsender.AppSender/SendAppGossip", &text);
    cd_arena_fini(&a);
}

void cd__guest_world_init(cd__guest_world *w, cd_grpc_client *client, cd_bytes key)
{
    *w = (cd__guest_world){
        .validators = {.current = current, .minimum = minimum, .subnet_of = subnet_of, .at = at},
        .signer = {.sign = sign},
        .sender = {.request = send_request, .response = send_response, .error = send_error, .gossip = send_gossip},
        .client = client,
    };
    memcpy(w->signer.key, key.p, sizeof w->signer.key);
}
