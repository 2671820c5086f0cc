#include "commands.h"
#include "decode/input.h"
#include "decode/names.h"

#include <stdio.h>

// clang-format off
#define OPTIONS(X)                                                                                                     \
    X(OPT_AS, .name = "as", .type = CD_ARG_STR, .meta = "KIND", .help = "what it is, where it may be several things")  \
    X(OPT_NETWORK, .name = "network-id", .type = CD_ARG_STR, .meta = "NETWORK",                                        \
      .help = "whose addresses are shown; without it the network that the bytes name, or the main network")            \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors too")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

static cd_err show_bytes(cd__show *s, const char *as, cd_bytes b, cd_errinfo *why)
{
    if (cd__name_bytes_show(s, as, b)) {
        return CD_OK;
    }
    return as != NULL ? cd_fail(why, CD_ERANGE, "%zu bytes are no %s", b.n, as) : cd__bytes_show(s, b, why);
}

/* Shows what a text names or encodes. as: a kind of name, or NULL. */
static cd_err show_text(cd__show *s, const char *as, cd_bytes text, cd_errinfo *why)
{
    cd_bytes b;
    bool is_name;
    cd_err e = cd__name_text_show(&is_name, s, as, text, why);
    if (e != CD_OK && !cd__input_is_hex(text)) {
        return e;
    }
    if (e == CD_OK && is_name) {
        return CD_OK;
    }
    if (e != CD_OK && text.n > 2 && text.p[1] == 'x') {
        return e; /* it is an address with a wrong checksum */
    }
    CD_TRY(cd__input_bytes(&b, s->mem, text, why));
    return show_bytes(s, as, b, why);
}

static cd_err show_kind(cd__show *s, const cd__kind *k, const cd__input *in, cd_errinfo *why)
{
    cd_errinfo inner = {0};
    cd_bytes b = in->b;
    if (in->is_text) {
        CD_TRY(cd__input_bytes(&b, s->mem, in->b, why));
    }
    s->is_named = true;
    cd_err e = cd__kind_show(s, k, b, &inner);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "not a %s: %s", k->name, inner.msg);
}

static cd_err show(cd__show *s, const char *as, const char *word, cd_errinfo *why)
{
    cd__input in;
    bool is_name = as[0] == '\0' || cd__name_is(as);
    const cd__kind *kind = cd__kind_find(as);
    if (!is_name && kind == NULL) {
        cd_buf names = {0};
        cd__kind_names(&names, 0);
        cd_err e = cd_fail(why, CD_EINVAL, "--as must be id, node-id, address, evm-address, %s, got \"%.40s\"",
                           cd_buf_cstr(&names), as);
        cd_buf_fini(&names);
        return e;
    }
    CD_TRY(cd__input_get(&in, s->mem, word, why));
    if (kind != NULL) {
        return show_kind(s, kind, &in, why);
    }
    as = as[0] == '\0' ? NULL : as;
    return in.is_text ? show_text(s, as, in.b, why) : show_bytes(s, as, in.b, why);
}

static int decode(const cd_args *a, cd_arena *mem)
{
    cd_errinfo why = {0};
    cd_network_any network;
    cd_buf json = {0};
    cd_json_w w = {.out = &json};
    cd__show s = {.w = &w, .mem = mem};
    const char *const *words;
    const char *name = cd_args_str(a, OPT_NETWORK);
    bool is_json = cd_args_bool(a, OPT_JSON);
    if (cd_args_words(a, &words) != 1) {
        (void)cd_fail(&why, CD_EINVAL, "that command goes: candela-cli decode [flags] TEXT|FILE|-");
        return cd__cmd_fail(&why, is_json, 2);
    }
    if (name[0] != '\0') {
        if (cd_network_parse(&network, name, &why) != CD_OK) {
            return cd__cmd_fail(&why, is_json, 2);
        }
        s.network = &network.network;
    }
    cd_err e = show(&s, cd_args_str(a, OPT_AS), words[0], &why);
    if (e == CD_OK) {
        cd__print_json(&json, is_json);
    }
    cd_buf_fini(&json);
    return e == CD_OK ? 0 : cd__cmd_fail(&why, is_json, e == CD_EINVAL ? 2 : 1);
}

int cd__decode_cmd(int argc, char **argv)
{
    cd_buf usage = {0};
    cd_arena mem = {0};
    int code = 0;
    cd_buf_str(&usage, "candela-cli decode [flags] TEXT|FILE|-\n"
                       "kinds:\n"
                       "id, node-id, address, evm-address,\n");
    cd__kind_names(&usage, 6);
    const cd__cmd cmd = {
        .program = "candela-cli decode",
        .purpose = "shows as JSON what bytes or a name say: digits, CB58, bech32 or a file of them",
        .usage = cd_buf_cstr(&usage),
        .example = "candela-cli decode --json NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg",
        .options = options,
        .option_cnt = OPT_CNT,
        .json = OPT_JSON,
        .words_max = 1,
    };
    cd_args *a = cd__cmd_args(&cmd, &code, argc, argv);
    if (a != NULL) {
        code = decode(a, &mem);
        cd_args_free(a);
    }
    cd_arena_fini(&mem);
    cd_buf_fini(&usage);
    return code;
}
