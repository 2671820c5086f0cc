#include "relay/relay_config.h"

#include "codec/ids.h"
#include "keys/secrets.h"

enum { FILE_MAX = 1 << 20, SENDERS_MAX = 1024 };

static cd_err check_names(cd_json v, const char *const *names, usize cnt, cd_errinfo *why)
{
    CD_TRY(cd_json_obj(v, why));
    for (cd_json_it it = cd_json_iter(v); cd_json_next(&it);) {
        bool is_known = false;
        for (usize i = 0; i < cnt && !is_known; i++) {
            is_known = cd_bytes_eq(it.key, cd_bytes_str(names[i]));
        }
        if (!is_known) {
            return cd_fail(why, CD_EINVAL, "\"%.*s\" is nothing that a relay knows", (int)cd_min_u64(it.key.n, 60),
                           (const char *)it.key.p);
        }
    }
    return CD_OK;
}

static cd_err get_str(const char **out, cd_arena *mem, cd_json v, const char *name, cd_errinfo *why)
{
    cd_bytes text;
    cd_json x = cd_json_get(v, name);
    if (!cd_json_has(x)) {
        *out = "";
        return CD_OK;
    }
    CD_TRY(cd_json_str(&text, x, why));
    *out = cd_arena_str(mem, text);
    return strlen(*out) == text.n ? CD_OK : cd_fail(why, CD_EINVAL, "\"%s\" holds a NUL", name);
}

static cd_err get_u64(u64 *out, cd_json v, const char *name, u64 most, cd_errinfo *why)
{
    cd_json x = cd_json_get(v, name);
    if (!cd_json_has(x)) {
        return CD_OK;
    }
    CD_TRY(cd_json_u64(out, x, why));
    return *out <= most ? CD_OK : cd_fail(why, CD_EINVAL, "\"%s\" is at most %llu", name, (unsigned long long)most);
}

static cd_err get_bool(bool *out, cd_json v, const char *name, cd_errinfo *why)
{
    cd_json x = cd_json_get(v, name);
    return cd_json_has(x) ? cd_json_bool(out, x, why) : CD_OK;
}

/* A path as seen from the folder of the configuration. */
static const char *beside(cd_arena *mem, const char *config, const char *path)
{
    const char *slash = strrchr(config, '/');
    return path[0] == '/' || slash == NULL ? path : cd_arena_fmt(mem, "%.*s/%s", (int)(slash - config), config, path);
}

static cd_err read_chain(cd__relay_config *c, cd_arena *mem, cd_json v, const char *path, cd_errinfo *why)
{
    static const char *const names[] = {"name",   "rpc",     "net",           "messenger",
                                        "source", "keyFile", "trustsPrimary", "start"};
    cd_relay_chain_cfg *out = &c->chains[c->chain_cnt];
    const char *key;
    cd_hash32 net;
    *out = (cd_relay_chain_cfg){.is_source = true};
    CD_TRY(check_names(v, names, CD_COUNT(names), why));
    CD_TRY(get_str(&out->name, mem, v, "name", why));
    CD_TRY(get_str(&out->url, mem, v, "rpc", why));
    CD_TRY(get_str(&out->net, mem, v, "net", why));
    CD_TRY(get_str(&key, mem, v, "keyFile", why));
    CD_TRY(cd_json_fixed(out->messenger.b, sizeof out->messenger.b, cd_json_get(v, "messenger"), why));
    CD_TRY(get_bool(&out->is_source, v, "source", why));
    CD_TRY(get_bool(&out->trusts_primary, v, "trustsPrimary", why));
    CD_TRY(get_u64(&out->start, v, "start", UINT64_MAX / 2, why));
    out->has_start = cd_json_has(cd_json_get(v, "start"));
    bool is_url = strncmp(out->url, "http://", 7) == 0 || strncmp(out->url, "https://", 8) == 0;
    if (out->name[0] == '\0' || !is_url) {
        return cd_fail(why, CD_EINVAL,
                       "a chain has a \"name\", and a URL such as http://127.0.0.1:9650/v1/bc/C/rpc as "
                       "\"rpc\"");
    }
    for (usize i = 0; i < c->chain_cnt; i++) {
        if (strcmp(c->chains[i].name, out->name) == 0) {
            return cd_fail(why, CD_EINVAL, "two chains are called \"%.60s\"", out->name);
        }
    }
    if (out->net[0] != '\0' && cd_id_parse(&net, cd_bytes_str(out->net), NULL) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "\"net\" of \"%.60s\" is no ID of a net", out->name);
    }
    if (key[0] != '\0') {
        CD_TRY(cd__key_get(&c->keys[c->chain_cnt], beside(mem, path, key), &(cd__account){.coin = 60}, why));
        out->key = c->keys[c->chain_cnt].p;
    }
    c->chain_cnt++;
    return CD_OK;
}

static cd_err read_senders(cd__relay_config *c, cd_arena *mem, cd_json list, cd_errinfo *why)
{
    if (!cd_json_has(list)) {
        return CD_OK;
    }
    CD_TRY(cd_json_arr(list, why));
    usize cnt = cd_json_len(list);
    if (cnt > SENDERS_MAX) {
        return cd_fail(why, CD_EINVAL, "more than %d senders", SENDERS_MAX);
    }
    cd_addr20 *out = cd_arena_array(mem, cd_addr20, cnt);
    usize i = 0;
    for (cd_json_it it = cd_json_iter(list); cd_json_next(&it); i++) {
        CD_TRY(cd_json_fixed(out[i].b, sizeof out[i].b, it.val, why));
    }
    c->senders = out;
    c->sender_cnt = cnt;
    return CD_OK;
}

static cd_err read_limits(cd__relay_config *c, cd_json v, cd_errinfo *why)
{
    const struct {
        const char *name;
        u32 *to;
        u64 most;
    } rows[] = {
        {"perSource", &c->limits.source_max, 1 << 16},
        {"inAll", &c->limits.all_max, 1 << 18},
        {"window", &c->limits.window, 1024},
        {"scanBlocks", &c->limits.scan_blocks, 1 << 20},
        {"attempts", &c->limits.attempts_max, 1 << 20},
        {"pollMs", &c->limits.head_ms, 3600000},
        {"backOffMs", &c->limits.back_off_ms, 3600000},
        {"backOffMaxMs", &c->limits.back_off_max_ms, 3600000},
        {"stallMs", &c->limits.stall_ms, 3600000},
    };
    const char *names[CD_COUNT(rows)];
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        names[i] = rows[i].name;
    }
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(check_names(v, names, CD_COUNT(names), why));
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u64 n = *rows[i].to;
        CD_TRY(get_u64(&n, v, rows[i].name, rows[i].most, why));
        *rows[i].to = (u32)n;
    }
    return CD_OK;
}

cd_err cd__relay_config_read(cd__relay_config *out, cd_arena *mem, const char *path, cd_errinfo *why)
{
    static const char *const names[] = {"chains", "senders", "quorum", "maxGas", "limits"};
    cd_buf text = {0};
    cd_json doc;
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, FILE_MAX, why);
    cd_bytes copy = cd_arena_dup(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    CD_TRY(e);
    CD_TRY(cd_json_parse(&doc, mem, copy, FILE_MAX, why));
    CD_TRY(check_names(doc, names, CD_COUNT(names), why));
    cd_json chains = cd_json_get(doc, "chains");
    CD_TRY(cd_json_arr(chains, why));
    for (cd_json_it it = cd_json_iter(chains); cd_json_next(&it);) {
        if (out->chain_cnt == CD_RELAY_CHAINS_MAX) {
            return cd_fail(why, CD_EINVAL, "more than %d chains", CD_RELAY_CHAINS_MAX);
        }
        CD_TRY(read_chain(out, mem, it.val, path, why));
    }
    CD_TRY(read_senders(out, mem, cd_json_get(doc, "senders"), why));
    CD_TRY(get_u64(&out->quorum, doc, "quorum", 100, why));
    CD_TRY(get_u64(&out->gas_max, doc, "maxGas", 1ull << 40, why));
    return read_limits(out, cd_json_get(doc, "limits"), why);
}

void cd__relay_config_fini(cd__relay_config *c)
{
    for (usize i = 0; i < CD_RELAY_CHAINS_MAX; i++) {
        cd_secret_fini(&c->keys[i]);
    }
}
