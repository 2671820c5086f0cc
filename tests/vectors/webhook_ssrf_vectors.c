/* URLs that a webhook may and may not have, and names that lead elsewhere later (webhooks/ssrf.json). What happens to a
 * redirect is the deliverer's test. [spec:webhooks#8] */
#include "base/table/list.h"
#include "services/webhook/core/send/target.h"
#include "tests/vectors/vec.h"

#include <arpa/inet.h>

/* A resolver that gives one list of addresses after the other. */
typedef struct script {
    cd_loop *loop;
    cd_json answers;
    usize at;
    cd_loop_task task;
    cd_lookup_fn *fn;
    void *arg;
    cd_err got;
} script;

static void answer(cd_loop_task *t)
{
    script *s = cd_list_of(t, script, task);
    cd_ip ips[8];
    usize cnt = 0;
    for (cd_json_it it = cd_json_iter(cd_json_at(s->answers, s->at)); cd_json_next(&it); cnt++) {
        cd_bytes b;
        char text[64] = "";
        if (cd_json_str(&b, it.val, NULL) != CD_OK || b.n >= sizeof text || cnt == CD_COUNT(ips)) {
            break;
        }
        memcpy(text, b.p, b.n);
        ips[cnt].n = inet_pton(AF_INET, text, ips[cnt].b) == 1 ? 4 : 16;
        if (ips[cnt].n == 16 && inet_pton(AF_INET6, text, ips[cnt].b) != 1) {
            break;
        }
    }
    s->at++;
    s->fn(s->arg, cnt == 0 ? CD_ENOENT : CD_OK, ips, cnt);
}

static void *look_up(void *ctx, const char *host, cd_lookup_fn *fn, void *arg)
{
    script *s = ctx;
    (void)host;
    s->fn = fn;
    s->arg = arg;
    s->task.fn = answer;
    cd_loop_post(s->loop, &s->task);
    return s;
}

static void drop(void *lookup)
{
    (void)lookup;
}

static void on_vetted(void *ctx, cd_err err, const cd_wh_addresses *to)
{
    script *s = ctx;
    (void)to;
    s->got = err;
    cd_loop_stop(s->loop);
}

static void run_name(vec *v, cd_loop *loop, cd_json row)
{
    cd_bytes url = {0};
    cd_bytes expect = {0};
    cd_json dns = cd_json_get(row, "dns");
    vec_check(v,
              cd_json_str(&url, cd_json_get(row, "url"), NULL) == CD_OK &&
                  cd_json_str(&expect, cd_json_get(row, "expect"), NULL) == CD_OK,
              "a row is malformed");
    script s = {.loop = loop, .answers = dns};
    const cd_wh_resolver resolver = {look_up, drop, &s};
    bool denied = expect.n >= 6 && memcmp(expect.p, "denied", 6) == 0;
    for (usize i = 0; i < cd_json_len(dns); i++) {
        /* A guard of its own each time: what was kept is not asked again. */
        cd_wh_guard *g;
        cd_wh_target t;
        cd_errinfo why = {0};
        const cd_wh_addresses *to;
        cd_err err;
        if (cd_wh_guard_new(&g, loop, &(cd_wh_guard_cfg){.resolver = &resolver}, &why) != CD_OK ||
            cd_wh_target_parse(&t, g, url, &why) != CD_OK) {
            /* Not ASCII: refused before anybody is asked. */
            vec_check(v, denied && i == 0, "%.*s: %s", (int)url.n, url.p, why.msg);
            cd_wh_guard_free(g);
            continue;
        }
        vec_check(v, !cd_wh_guard_known(g, &t, &err, &to), "known before it was asked");
        (void)cd_wh_guard_look_up(g, &t, "prj", on_vetted, &s);
        cd_loop_run(loop);
        cd_err want = denied || i > 0 ? CD_EACCES : CD_OK;
        vec_check(v, s.got == want, "%.*s, answer %zu: %s", (int)url.n, url.p, i, cd_err_name(s.got));
        vec_check(v, cd_wh_guard_known(g, &t, &err, &to) && err == want, "not kept");
        cd_wh_guard_free(g);
    }
}

int main(void)
{
    vec v = {0};
    cd_json doc;
    cd_loop *loop;
    cd_wh_guard *g;
    cd_errinfo why = {0};
    if (vec_json(&v, &doc, vec_path(&v, "webhooks/ssrf.json"))) {
        bool ok = cd_loop_new(&loop, &why) == CD_OK &&
                  cd_wh_guard_new(&g, loop, &(cd_wh_guard_cfg){.allow_http = true}, &why) == CD_OK;
        CD_ASSERT(ok);
        static const char *const groups[] = {"deny", "allow_syntax_and_range"};
        for (usize i = 0; i < CD_COUNT(groups); i++) {
            for (cd_json_it it = cd_json_iter(cd_json_get(doc, groups[i])); cd_json_next(&it);) {
                cd_bytes url = {0};
                cd_wh_target t;
                vec_check(&v, cd_json_str(&url, it.val, NULL) == CD_OK, "no text");
                vec_check(&v, (cd_wh_target_parse(&t, g, url, &why) == CD_OK) == (i == 1), "%s: %.*s", groups[i],
                          (int)url.n, url.p);
            }
        }
        cd_wh_guard_free(g);
        for (cd_json_it it = cd_json_iter(cd_json_get(doc, "with_resolver")); cd_json_next(&it);) {
            run_name(&v, loop, it.val);
        }
        cd_loop_free(loop);
    }
    return vec_end(&v);
}
