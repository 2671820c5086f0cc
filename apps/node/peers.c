#include "peers.h"

#include "options.h"
#include "report.h"
#include "tuning.h"

static bool refuse(cd_arena *mem, const char *text)
{
    cd__report("error", NULL, cd_arena_fmt(mem, "couldn't load node config: %s", text), "");
    return false;
}

/* A list of addresses and one of node IDs, which the original calls by a name. */
static bool load_list(const cd_node_beacon **out, usize *cnt, const cd_args *a, cd_arena *mem, usize ips_id,
                      usize ids_id, const char *name)
{
    const char *const *ips;
    const char *const *ids;
    bool is_boot = ips_id == OPT_BOOTSTRAP_IPS;
    usize ip_cnt = cd_args_list(a, ips_id, &ips);
    usize id_cnt = cd_args_list(a, ids_id, &ids);
    if (ip_cnt != id_cnt) {
        return refuse(mem, cd_arena_fmt(mem,
                                        "expected the number of %sIPs (%zu) to match the number of "
                                        "%sIDs (%zu)",
                                        is_boot ? "bootstrap" : "stateSync", ip_cnt,
                                        is_boot ? "bootstrap" : "stateSync", id_cnt));
    }
    cd_node_beacon *beacons = cd_arena_zalloc(mem, (ip_cnt + 1) * sizeof *beacons);
    for (usize i = 0; i < ip_cnt; i++) {
        if (cd_p2p_ip_parse(&beacons[i].ip, cd_bytes_str(ips[i])) != CD_OK) {
            return refuse(mem, cd_arena_fmt(mem, "couldn't parse %s ip %.100s: IP:PORT is needed", name, ips[i]));
        }
        if (cd_node_id_parse(&beacons[i].node, cd_bytes_str(ids[i]), NULL) != CD_OK) {
            return refuse(mem, cd_arena_fmt(mem, "couldn't parse %s peer id %.100s: a NodeID is needed", name, ids[i]));
        }
    }
    *out = beacons;
    *cnt = ip_cnt;
    return true;
}

static bool load_beacons(cd_node_peers_cfg *out, const cd_args *a, cd_arena *mem)
{
    return load_list(&out->beacons, &out->beacon_cnt, a, mem, OPT_BOOTSTRAP_IPS, OPT_BOOTSTRAP_IDS, "bootstrap") &&
           load_list(&out->sync_beacons, &out->sync_beacon_cnt, a, mem, OPT_SYNC_IPS, OPT_SYNC_IDS, "state sync");
}

/* Chooses the address that peers are told: --public-ip, else the address that we listen on if it is a single one, else
 * that of this machine alone. */
static bool load_own(cd_node_peers_cfg *out, const cd_args *a, cd_arena *mem)
{
    const char *ip = cd_args_str(a, OPT_PUBLIC_IP);
    if (ip[0] != '\0' && cd_p2p_ip_addr_parse(&out->own, cd_bytes_str(ip)) != CD_OK) {
        return refuse(mem, cd_arena_fmt(mem, "--public-ip: %.100s is no address", ip));
    }
    bool is_known = ip[0] != '\0' ||
                    (cd_p2p_ip_addr_parse(&out->own, cd_bytes_str(out->host)) == CD_OK && !cd_p2p_ip_is_any(&out->own));
    return is_known || cd_p2p_ip_addr_parse(&out->own, cd_bytes_str("127.0.0.1")) == CD_OK;
}

static u16 port_of(const cd_args *a, const cd_network *net)
{
    if (cd_args_source(a, OPT_STAKING_PORT) != CD_ARG_FROM_DEFAULT) {
        return (u16)cd_args_u64(a, OPT_STAKING_PORT);
    }
    bool has_http = cd_args_source(a, OPT_HTTP_PORT) != CD_ARG_FROM_DEFAULT;
    u64 http = has_http ? cd_args_u64(a, OPT_HTTP_PORT) : net->http_port;
    return http == 0 || http == UINT16_MAX ? 0 : (u16)(http + 1);
}

bool cd__peers_load(cd_node_peers_cfg *out, const cd_args *a, cd_arena *mem, const cd_network *net,
                    const cd_p2p_identity *self, bool is_alone)
{
    bool is_told = cd_args_source(a, OPT_PRIVATE_IPS) != CD_ARG_FROM_DEFAULT;
    const char *record = cd_args_path(a, mem, OPT_RECORD);
    *out = (cd_node_peers_cfg){
        .id = self,
        .host = cd_args_str(a, OPT_STAKING_HOST),
        .port = port_of(a, net),
        .allow_private = is_told ? cd_args_bool(a, OPT_PRIVATE_IPS) : !cd_network_is_public(net),
        .blocked = cd_args_path(a, mem, OPT_BLOCKED),
        .record_dir = record[0] == '\0' ? NULL : record,
        .min_connected = is_alone ? 0 : (u32)cd_args_u64(a, OPT_MIN_PEERS),
    };
    if (!load_beacons(out, a, mem) || !load_own(out, a, mem) || !cd__tuning_load(&out->tuning, a, mem)) {
        return false;
    }
    bool is_asked = out->beacon_cnt != 0 || cd_args_source(a, OPT_STAKING_PORT) != CD_ARG_FROM_DEFAULT;
    out->is_off = !is_asked;
    return true;
}

const char *cd__peers_listen_text(cd_arena *mem, const cd_node_peers_cfg *cfg, u16 port)
{
    const char *host = cfg->host[0] != '\0' ? cfg->host : "::";
    bool is_v6 = strchr(host, ':') != NULL && host[0] != '[';
    return cd_arena_fmt(mem, is_v6 ? "[%s]:%u" : "%s:%u", host, port);
}
