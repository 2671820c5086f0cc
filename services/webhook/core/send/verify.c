#include "services/webhook/core/send/verify.h"

#include "base/mem/arena.h"
#include "net/http/http.h"
#include "services/webhook/receiver/candela_webhook.h"

/* The next line of *head without its end. */
static cd_bytes line_next(cd_bytes *head)
{
    const u8 *end = memchr(head->p, '\n', head->n);
    usize n = end == NULL ? head->n : (usize)(end - head->p);
    cd_bytes line = cd_bytes_sub(*head, 0, n);
    *head = cd_bytes_sub(*head, end == NULL ? n : n + 1, head->n - (end == NULL ? n : n + 1));
    if (line.n > 0 && line.p[line.n - 1] == '\r') {
        line.n--;
    }
    return line;
}

/* The value of a header, NULL without. */
static const char *header(cd_arena *mem, cd_bytes head, const char *name)
{
    while (head.n != 0) {
        cd_bytes line = line_next(&head);
        const u8 *colon = line.n == 0 ? NULL : memchr(line.p, ':', line.n);
        if (colon == NULL || !cd_http_name_eq(cd_bytes_of(line.p, (usize)(colon - line.p)), cd_bytes_str(name))) {
            continue;
        }
        usize at = (usize)(colon + 1 - line.p);
        cd_bytes value = cd_bytes_sub(line, at, line.n - at);
        while (value.n > 0 && value.p[0] == ' ') {
            value = cd_bytes_sub(value, 1, value.n - 1);
        }
        while (value.n > 0 && value.p[value.n - 1] == ' ') {
            value.n--;
        }
        return cd_arena_str(mem, value);
    }
    return NULL;
}

cd_err cd_wh_verify(cd_wh_scheme scheme, const char *brand, const char *secret, cd_bytes request, u64 now_s,
                    cd_errinfo *why)
{
    cd_bytes rest = request;
    cd_bytes line = {0};
    do {
        line = rest.n == 0 ? (cd_bytes){0} : line_next(&rest);
    } while (line.n != 0);
    if (rest.n == 0 && (request.n < 2 || request.p[request.n - 1] != '\n')) {
        return cd_fail(why, CD_EFORMAT, "no empty line ends the head of the request");
    }
    cd_arena mem = {0};
    cd_bytes head = cd_bytes_sub(request, 0, request.n - rest.n);
    const char *signature = header(&mem, head, cd_arena_fmt(&mem, "X-%s-Signature", brand));
    const char *timestamp = header(&mem, head, cd_arena_fmt(&mem, "X-%s-Timestamp", brand));
    cd_webhook_result r = CD_WEBHOOK_MALFORMED;
    switch (scheme) {
    case CD_WH_SCHEME_B:
        r = cd_webhook_verify_b(secret, timestamp, signature, rest.p, rest.n, (i64)now_s);
        break;
    case CD_WH_SCHEME_C:
        r = cd_webhook_verify_c(secret, signature, rest.p, rest.n);
        break;
    case CD_WH_SCHEME_STANDARD:
        r = cd_webhook_verify_standard(secret, header(&mem, head, "webhook-id"),
                                       header(&mem, head, "webhook-timestamp"), header(&mem, head, "webhook-signature"),
                                       rest.p, rest.n, (i64)now_s);
        break;
    }
    cd_arena_fini(&mem);
    static const cd_err errs[] = {
        [CD_WEBHOOK_OK] = CD_OK,
        [CD_WEBHOOK_MALFORMED] = CD_EFORMAT,
        [CD_WEBHOOK_LATE] = CD_ERANGE,
        [CD_WEBHOOK_FORGED] = CD_ESIG,
    };
    return r == CD_WEBHOOK_OK ? CD_OK : cd_fail(why, errs[r], "%s", cd_webhook_result_str(r));
}
