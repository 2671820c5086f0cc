#include "tuning.h"

#include "base/num_text.h"
#include "options.h"
#include "report.h"

/* How a flag's value is kept. */
typedef enum form {
    AS_U64,
    AS_U32,
    AS_S, /* seconds of a duration */
    AS_F64,
    AS_COUNT, /* the whole part of a number that may have others */
    AS_BOOL,
} form;

#define ROW(id_, form_, member_)                                                                                       \
    {                                                                                                                  \
        .id = (id_), .form = (form_), .at = offsetof(cd_node_tuning, member_)                                          \
    }

static const struct {
    usize id;
    form form;
    usize at; /* in cd_node_tuning */
} rows[] = {
    ROW(OPT_K, AS_U32, voting.k),
    ROW(OPT_ALPHA, AS_U32, voting.alpha_preference),
    ROW(OPT_ALPHA, AS_U32, voting.alpha_confidence),
    ROW(OPT_ALPHA_PREFERENCE, AS_U32, voting.alpha_preference),
    ROW(OPT_ALPHA_CONFIDENCE, AS_U32, voting.alpha_confidence),
    ROW(OPT_BETA, AS_U32, voting.beta),
    ROW(OPT_REPOLLS, AS_U32, voting.concurrent_repolls),
    ROW(OPT_OPTIMAL, AS_U32, voting.optimal_processing),
    ROW(OPT_FRONTIER_POLL, AS_U64, tick_ns),
    ROW(OPT_SKIP_BOOTSTRAP, AS_BOOL, skip_bootstrap),
    ROW(OPT_VALIDATORS_ONLY, AS_BOOL, net.validators_only),
    ROW(OPT_CLOCK_MAX, AS_S, net.link.clock_max_s),
    ROW(OPT_PING, AS_U64, net.link.ping_ns),
    ROW(OPT_SILENCE, AS_U64, net.link.silence_ns),
    ROW(OPT_HANDSHAKE, AS_U64, tls_timeout_ns),
    ROW(OPT_DIAL_TIMEOUT, AS_U64, dial_timeout_ns),
    ROW(OPT_DIAL_RATE, AS_U32, net.dial_rate),
    ROW(OPT_DELAY_MIN, AS_U64, net.delay_min_ns),
    ROW(OPT_DELAY_MAX, AS_U64, net.delay_max_ns),
    ROW(OPT_CONN_RATE, AS_COUNT, net.conn_rate),
    ROW(OPT_COOLDOWN, AS_U64, net.cooldown_ns),
    ROW(OPT_GOSSIP, AS_U64, net.gossip_ns),
    ROW(OPT_BLOOM_RESET, AS_U64, net.bloom_ns),
    ROW(OPT_TIMEOUT_FIRST, AS_U64, requests.timeout_first_ns),
    ROW(OPT_TIMEOUT_MIN, AS_U64, requests.timeout_min_ns),
    ROW(OPT_TIMEOUT_MAX, AS_U64, requests.timeout_max_ns),
    ROW(OPT_TIMEOUT_IN, AS_U64, deadline_max_ns),
    ROW(OPT_TIMEOUT_FACTOR, AS_F64, requests.coefficient),
    ROW(OPT_TIMEOUT_HALF, AS_U64, requests.half_ns),
    ROW(OPT_BENCH_FAILURES, AS_U32, requests.bench_failures),
    ROW(OPT_BENCH_AFTER, AS_U64, requests.bench_after_ns),
    ROW(OPT_BENCH_MAX, AS_U64, requests.bench_max_ns),
    ROW(OPT_BANDWIDTH, AS_U64, net.bandwidth),
    ROW(OPT_BURST, AS_U64, net.bandwidth_burst),
    ROW(OPT_IN_LARGE, AS_U64, net.in_large),
    ROW(OPT_IN_LARGE_NODE, AS_U64, net.in_large_node),
    ROW(OPT_IN_PART, AS_U64, net.in_part),
    ROW(OPT_IN_CNT, AS_U32, net.unfinished_max),
    ROW(OPT_OUT_LARGE, AS_U64, net.out_large),
    ROW(OPT_OUT_LARGE_NODE, AS_U64, net.out_large_node),
    ROW(OPT_OUT_PART, AS_U64, net.out_part),
    ROW(OPT_HEALTH_IN, AS_U64, silence_in_ns),
    ROW(OPT_HEALTH_OUT, AS_U64, silence_out_ns),
    ROW(OPT_HEALTH_FAILS, AS_F64, send_fails_max),
    ROW(OPT_HEALTH_REQUEST, AS_U64, request_ns),
    ROW(OPT_HEALTH_REQUESTS, AS_U64, requests_max),
    ROW(OPT_HEALTH_BLOCKS, AS_U64, blocks_max),
    ROW(OPT_HEALTH_WAITING, AS_U64, waiting_ns),
};

static void set(cd_node_tuning *t, const cd_args *a, usize i)
{
    void *at = (char *)t + rows[i].at;
    usize id = rows[i].id;
    switch (rows[i].form) {
    case AS_U64:
        *(u64 *)at = cd_args_u64(a, id);
        break;
    case AS_U32:
        *(u32 *)at = (u32)cd_args_u64(a, id);
        break;
    case AS_S:
        *(u64 *)at = cd_args_u64(a, id) / CD_NS_PER_SEC;
        break;
    case AS_F64:
        *(double *)at = cd_args_f64(a, id);
        break;
    case AS_COUNT:
        *(u32 *)at = (u32)cd_args_f64(a, id);
        break;
    case AS_BOOL:
        *(bool *)at = cd_args_bool(a, id);
        break;
    }
}

static bool refuse(const char *text)
{
    cd__report("error", NULL, text, "all of these: candela help tuning");
    return false;
}

static bool load_numbers(const u32 **out, u32 *cnt, const cd_args *a, cd_arena *mem, usize id)
{
    const char *const *texts;
    usize n = cd_args_list(a, id, &texts);
    u32 *v = cd_arena_array(mem, u32, n);
    for (usize i = 0; i < n; i++) {
        u64 number;
        if (cd_u64_parse(&number, cd_bytes_str(texts[i])) != CD_OK || number > UINT32_MAX) {
            return refuse(cd_arena_fmt(mem, "--%s: numbers are needed, got \"%.60s\"", cd__options[id].name, texts[i]));
        }
        v[i] = (u32)number;
    }
    *out = v;
    *cnt = (u32)n;
    return true;
}

/* What was set by hand has to fit what was not. */
static bool check(const cd_node_tuning *t)
{
    cd_errinfo why = {0};
    if (cd_snow_params_check(&t->voting, &why) != CD_OK) {
        return refuse(why.msg);
    }
    const struct {
        u64 less;
        u64 more;
        const char *text;
    } orders[] = {
        {t->requests.timeout_min_ns, t->requests.timeout_max_ns,
         "--network-minimum-timeout is above --network-maximum-timeout"},
        {t->requests.timeout_first_ns, t->requests.timeout_max_ns,
         "--network-initial-timeout is above --network-maximum-timeout"},
        {t->requests.timeout_min_ns, t->requests.timeout_first_ns,
         "--network-initial-timeout is below --network-minimum-timeout"},
        {t->net.delay_min_ns, t->net.delay_max_ns,
         "--network-initial-reconnect-delay is above --network-max-reconnect-delay"},
        {t->net.link.ping_ns, t->net.link.silence_ns, "--network-ping-frequency is above --network-ping-timeout"},
        {t->net.in_large_node, t->net.in_large,
         "--throttler-inbound-node-max-at-large-bytes is above --throttler-inbound-at-large-alloc-size"},
        {t->net.out_large_node, t->net.out_large,
         "--throttler-outbound-node-max-at-large-bytes is above --throttler-outbound-at-large-alloc-size"},
    };
    for (usize i = 0; i < CD_COUNT(orders); i++) {
        if (orders[i].less > orders[i].more) {
            return refuse(orders[i].text);
        }
    }
    return true;
}

bool cd__tuning_load(cd_node_tuning *out, const cd_args *a, cd_arena *mem)
{
    *out = (cd_node_tuning){.voting = cd_snow_params_default()};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        usize id = rows[i].id;
        bool is_finer = id == OPT_ALPHA_PREFERENCE || id == OPT_ALPHA_CONFIDENCE; /* than OPT_ALPHA */
        if (!is_finer || cd_args_source(a, id) != CD_ARG_FROM_DEFAULT) {
            set(out, a, i);
        }
    }
    cd_p2p_link_cfg *link = &out->net.link;
    link->is_plain = strcmp(cd_args_str(a, OPT_COMPRESSION), "none") == 0;
    return check(out) && load_numbers(&link->supported_acps, &link->supported_acps_cnt, a, mem, OPT_ACPS) &&
           load_numbers(&link->objected_acps, &link->objected_acps_cnt, a, mem, OPT_ACPS_AGAINST);
}
