#include "network/network_ask.h"

#include "base/num_text.h"
#include "codec/json.h"
#include "remote/remote.h"

enum { PATIENCE_MS = 3000 };

/* Reads a number in a text: decimal, or 0x… as in Ethereum. */
static bool read_number(u64 *out, cd_json v)
{
    cd_bytes text;
    return cd_json_str(&text, v, NULL) == CD_OK &&
           (cd_u64_parse(out, text) == CD_OK || cd_u64_parse_hex(out, text) == CD_OK);
}

static bool ask(cd__remote *r, cd_json *result, const char *path, const char *method, const char *params)
{
    return cd__remote_ask(r, result, path, method, params, NULL) == CD_OK;
}

static bool is_healthy(cd__remote *r, const char *params)
{
    cd_json v;
    bool is = false;
    if (ask(r, &v, "/ext/health", "health.health", params)) {
        (void)!cd_json_bool(&is, cd_json_get(v, "healthy"), NULL);
    }
    return is;
}

static void ask_all(cd__remote *r, cd__net_word *out)
{
    cd_json v;
    u64 *h = out->heights;
    out->has_peers =
        ask(r, &v, "/ext/info", "info.peers", "{}") && read_number(&out->peers, cd_json_get(v, "numPeers"));
    out->has_heights = ask(r, &v, "/ext/bc/P", "platform.getHeight", "{}") &&
                       read_number(&h[0], cd_json_get(v, "height")) && ask(r, &v, "/ext/bc/X", "avm.getHeight", "{}") &&
                       read_number(&h[1], cd_json_get(v, "height")) &&
                       ask(r, &v, "/ext/bc/C/rpc", "eth_blockNumber", "[]") && read_number(&h[2], v);
    out->is_healthy = is_healthy(r, "{}");
    out->primary_is_healthy = is_healthy(r, "{\"tags\":[\"11111111111111111111111111111111LpoYY\"]}");
}

void cd__net_ask(cd__net_word *out, const cd__net *n, const cd__net_node *x)
{
    cd__remote *r;
    *out = (cd__net_word){.has_peers = false};
    if (cd__remote_new(&r, n->mem, cd_arena_fmt(n->mem, "http://127.0.0.1:%u", x->http_port), NULL) == CD_OK) {
        cd__remote_patience(r, PATIENCE_MS);
        ask_all(r, out);
        cd__remote_free(r);
    }
}
