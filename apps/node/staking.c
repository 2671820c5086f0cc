#include "staking.h"

#include "base/mem/buf.h"
#include "codec/json.h"
#include "report.h"

static const struct {
    usize id;
    u64 unit; /* of the flag's value */
} rows[] = {
    {OPT_MIN_VALIDATOR_STAKE, 1},
    {OPT_MAX_VALIDATOR_STAKE, 1},
    {OPT_MIN_DELEGATOR_STAKE, 1},
    {OPT_MIN_DELEGATION_FEE, 1},
    {OPT_MIN_STAKE_DURATION, CD_NS_PER_SEC},
    {OPT_MAX_STAKE_DURATION, CD_NS_PER_SEC},
    {OPT_MAX_CONSUMPTION_RATE, 1},
    {OPT_MIN_CONSUMPTION_RATE, 1},
    {OPT_MINTING_PERIOD, CD_NS_PER_SEC},
    {OPT_SUPPLY_CAP, 1},
};

static bool refuse(const char *text)
{
    cd__report("error", NULL, text, "");
    return false;
}

/* Reads a share such as "0.8" in millionths: 800000. */
static bool read_share(u64 *out, cd_arena *mem, const char *text)
{
    enum { MILLION = 1000000 };
    cd_json v;
    double share;
    if (cd_json_parse(&v, mem, cd_bytes_str(text), 0, NULL) != CD_OK || cd_json_f64(&share, v, NULL) != CD_OK ||
        share < 0 || share > 1) {
        return false;
    }
    *out = (u64)(share * MILLION + 0.5);
    return true;
}

bool cd__staking_rules(const char **out, const cd_args *a, cd_arena *mem, const cd_network *net)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    bool is_given = false;
    bool is_good = true;
    cd_json_w_obj(&w);
    for (usize i = 0; i < CD_COUNT(rows) && is_good; i++) {
        if (cd_args_source(a, rows[i].id) == CD_ARG_FROM_DEFAULT) {
            continue;
        }
        u64 value = cd_args_u64(a, rows[i].id);
        is_given = true;
        is_good = value % rows[i].unit == 0;
        cd_json_w_key(&w, cd__options[rows[i].id].name);
        cd_json_w_u64(&w, value / rows[i].unit);
        if (!is_good) {
            (void)refuse(cd_arena_fmt(mem, "--%s: whole seconds are needed", cd__options[rows[i].id].name));
        }
    }
    const char *share = cd_args_str(a, OPT_UPTIME_REQUIREMENT);
    if (is_good && share[0] != '\0') {
        u64 parts = 0;
        is_given = true;
        is_good = read_share(&parts, mem, share) || refuse("--uptime-requirement: a number from 0 to 1 is needed");
        cd_json_w_key(&w, "uptime-requirement");
        cd_json_w_u64(&w, parts);
    }
    cd_json_w_obj_end(&w);
    if (is_good && is_given && cd_network_refuses_public_keys(net->id)) {
        is_good = refuse(cd_arena_fmt(mem,
                                      "couldn't load node config: flags of staking are for networks of one's own, "
                                      "not for %s",
                                      net->name));
    }
    *out = is_given ? cd_arena_str(mem, cd_buf_bytes(&text)) : "null";
    cd_buf_fini(&text);
    return is_good;
}
