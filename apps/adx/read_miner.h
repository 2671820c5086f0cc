/* apps/adx/read_miner.h - what the options of the miner say; included behind the enum of a command's options. */
#ifndef CD_APPS_ADX_READ_MINER_H
#define CD_APPS_ADX_READ_MINER_H

#include "services/adx/miner/cache.h"

/* A URL without the slashes at its end. */
static const char *base_of(cd_arena *mem, const char *url)
{
    cd_bytes b = cd_bytes_str(url);
    while (b.n != 0 && b.p[b.n - 1] == '/') {
        b.n--;
    }
    return cd_arena_str(mem, b);
}

static cd_err read_miner(cd_home_cfg *out, const cd_service *s, cd_errinfo *why)
{
    const char *exchange = cd_args_str(s->args, OPT_EXCHANGE);
    *out = (cd_home_cfg){
        .loop = s->loop,
        .log = s->log,
        .metrics = s->metrics,
        .clock = cd_clock_real(),
        .bind = cd_args_str(s->args, OPT_BIND),
        .port = (u16)cd_args_u64(s->args, OPT_MINER_PORT),
        .wallet = cd_args_str(s->args, OPT_WALLET),
        .data_dir = cd_args_path(s->args, s->mem, OPT_DATA_DIR),
        .exchange = base_of(s->mem, exchange[0] != '\0' ? exchange : "http://127.0.0.1:8080"),
        .tunnel = {.cmd = cd_args_str(s->args, OPT_TUNNEL_CMD),
                   .public_ip = cd_args_str(s->args, OPT_PUBLIC_IP),
                   .subdomain = cd_args_str(s->args, OPT_SUBDOMAIN),
                   .auth_token = cd_args_str(s->args, OPT_AUTH_TOKEN),
                   .cf_token = cd_args_str(s->args, OPT_CF_TOKEN)},
    };
    if (out->wallet[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--wallet is missing: the address that rewards go to");
    }
    if (cd_cache_size_parse(&out->cache_size, cd_bytes_str(cd_args_str(s->args, OPT_CACHE))) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "--cache-size must be a number with a unit, such as 10GB");
    }
    bool is_kind = cd_tunnel_kind_of(&out->tunnel.kind, cd_bytes_str(cd_args_str(s->args, OPT_TUNNEL)));
    CD_ASSERT(is_kind); // one of the choices
    if (out->tunnel.cmd[0] != '\0' && (out->tunnel.kind == CD_TUNNEL_NONE || out->tunnel.kind == CD_TUNNEL_DIRECT)) {
        return cd_fail(why, CD_EINVAL, "--tunnel-cmd wants --tunnel to name the provider that it stands for");
    }
    return CD_OK;
}

#endif
