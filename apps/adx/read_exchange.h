/* apps/adx/read_exchange.h - what the options of the exchange say; included behind the enum of a command's options. */
#ifndef CD_APPS_ADX_READ_EXCHANGE_H
#define CD_APPS_ADX_READ_EXCHANGE_H

static const char *text_or_null(const char *s)
{
    return s[0] == '\0' ? NULL : s;
}

static cd_err read_exchange(cd_exchange_cfg *out, const cd_service *s, cd_errinfo *why)
{
    *out = (cd_exchange_cfg){
        .loop = s->loop,
        .log = s->log,
        .metrics = s->metrics,
        .clock = cd_clock_real(),
        .bind = cd_args_str(s->args, OPT_BIND),
        .port = (u16)cd_args_u64(s->args, OPT_PORT),
        .public_url = text_or_null(cd_args_str(s->args, OPT_PUBLIC_URL)),
        .config_path = text_or_null(cd_args_path(s->args, s->mem, OPT_CONFIG)),
        .data_dir = cd_args_path(s->args, s->mem, OPT_DATA_DIR),
        .db = text_or_null(cd_args_str(s->args, OPT_DB)),
        .admin_token = text_or_null(cd_args_str(s->args, OPT_ADMIN)),
        .timeout_ms = (u32)(cd_args_u64(s->args, OPT_TIMEOUT) / CD_NS_PER_MS),
        .at = (i32)cd_args_u64(s->args, OPT_AT),
        .freq_window_s = (u32)(cd_args_u64(s->args, OPT_WINDOW) / CD_NS_PER_SEC),
        .shared_caps = text_or_null(cd_args_str(s->args, OPT_SHARED)),
        .client_rate = (u32)cd_args_u64(s->args, OPT_RATE),
        .token_life_s = (u32)(cd_args_u64(s->args, OPT_LIFE) / CD_NS_PER_SEC),
        .miner_period_s = cd_args_u64(s->args, OPT_PERIOD) / CD_NS_PER_SEC,
        .proof_fee_micro = cd_args_u64(s->args, OPT_PROOF_FEE),
    };
    if (cd_micro_parse(&out->floor, cd_bytes_str(cd_args_str(s->args, OPT_FLOOR)), CD_MICRO_UP) != CD_OK ||
        out->floor < 0) {
        return cd_fail(why, CD_EINVAL, "--floor-cpm must be an amount such as 0.50");
    }
    return CD_OK;
}

#endif
