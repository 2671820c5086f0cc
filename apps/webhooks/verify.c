/* candela-webhooks verify - what a receiver would say to a request. */
#include "services/webhook/core/send/verify.h"
#include "apps/webhooks/commands.h"
#include "base/os/clock.h"

#include <stdio.h>
#include <unistd.h>

enum { REQUEST_MAX = 1 << 20 };

// clang-format off
#define OPTIONS(X)                                                                                                   \
    X(OPT_VARIANT, .name = "variant", .type = CD_ARG_STR, .dflt = "b", .choices = "a|b|c|standard", .meta = "V",       \
      .help = "how it is signed")                                                                                    \
    X(OPT_SECRET, .name = "secret", .type = CD_ARG_STR, .meta = "TEXT", .help = "the webhook's secret")              \
    X(OPT_BRAND, .name = "header-brand", .type = CD_ARG_STR, .dflt = "Svc", .meta = "WORD",                          \
      .help = "the word in X-WORD-Signature")                                                                        \
    X(OPT_AT, .name = "at", .type = CD_ARG_U64, .meta = "SECONDS", .max = 1ull << 40,                                \
      .help = "judge as of this Unix time; now when not given")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

static cd_err read_all(cd_buf *out, cd_errinfo *why)
{
    for (;;) {
        ssize_t n = read(STDIN_FILENO, cd_buf_reserve(out, 65536), 65536);
        if (n < 0) {
            return cd_fail(why, CD_EIO, "standard input cannot be read");
        }
        if (n == 0) {
            return CD_OK;
        }
        out->n += (usize)n;
        if (out->n > REQUEST_MAX) {
            return cd_fail(why, CD_ELIMIT, "the request is larger than 1 MiB");
        }
    }
}

int cd_cmd_verify(int argc, char **argv)
{
    static const cd_cmd_info info = {
        .program = "candela-webhooks verify",
        .purpose = "judges a recorded request, head and body, as its receiver would",
        .example = "candela-webhooks verify --variant=b --secret=whsec_… < request",
        .options = options,
        .options_cnt = OPT_CNT,
    };
    int code = 0;
    cd_errinfo why = {0};
    cd_buf request = {0};
    cd_args *args = cd_cmd_args(&info, &code, argc, argv);
    if (args == NULL) {
        return code;
    }
    const char *variant = cd_args_str(args, OPT_VARIANT);
    const char *secret = cd_args_str(args, OPT_SECRET);
    bool is_dated = cd_args_source(args, OPT_AT) != CD_ARG_FROM_DEFAULT;
    u64 now = is_dated ? cd_args_u64(args, OPT_AT) : cd_clock_wall_s(cd_clock_real());
    cd_wh_scheme scheme = variant[0] == 'b'   ? CD_WH_SCHEME_B
                          : variant[0] == 's' ? CD_WH_SCHEME_STANDARD
                                              : CD_WH_SCHEME_C; /* A signs as C does */
    if (secret[0] == '\0') {
        (void)cd_fail(&why, CD_EINVAL, "--secret is wanted");
        code = cd_cmd_fail(info.program, &why, 2);
    } else if (read_all(&request, &why) != CD_OK ||
               cd_wh_verify(scheme, cd_args_str(args, OPT_BRAND), secret, cd_buf_bytes(&request), now, &why) != CD_OK) {
        code = cd_cmd_fail(info.program, &why, 1);
    } else {
        (void)puts("genuine");
    }
    cd_buf_fini(&request);
    cd_args_free(args);
    return code;
}
