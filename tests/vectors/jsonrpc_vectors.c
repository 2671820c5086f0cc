/* go-ethereum's recorded dialogues with a JSON-RPC server, over a session: `-->` is said, `<--` must be heard. */
#include "src/rpc/test/service.h"
#include "tests/vectors/vec.h"

#include <dirent.h>

/* A text without the freedom that JSON leaves. */
static void normalize(cd_buf *out, cd_bytes text)
{
    cd_arena a = {0};
    cd_json v;
    if (cd_json_parse(&v, &a, text, 0, NULL) == CD_OK) {
        cd_json_raw(out, v);
    } else {
        cd_buf_str(out, "(no JSON)");
    }
    cd_arena_fini(&a);
}

static bool is_same(const char *got, const char *want)
{
    cd_buf x = {0};
    cd_buf y = {0};
    normalize(&x, cd_bytes_str(got));
    normalize(&y, cd_bytes_str(want));
    bool same = cd_bytes_eq(cd_buf_bytes(&x), cd_buf_bytes(&y));
    cd_buf_fini(&x);
    cd_buf_fini(&y);
    return same;
}

static void run_line(vec *v, client *c, const char *file, const char *line)
{
    if (strncmp(line, "--> ", 4) == 0) {
        client_say(c, line + 4);
    } else if (strncmp(line, "<-- ", 4) == 0) {
        const char *got = client_hear(c);
        vec_check(v, got != NULL && is_same(got, line + 4), "%s: got %s, want %s", file, got == NULL ? "nothing" : got,
                  line + 4);
    }
}

static void run_file(vec *v, const char *file)
{
    cd_bytes text;
    if (!vec_read(v, &text, vec_path(v, cd_arena_fmt(&v->arena, "jsonrpc-server/%s", file)))) {
        return;
    }
    cd_rpc_table *t = cd_rpc_table_new(NULL, 0);
    cd_rpc_service service = test_service(t);
    service.limits.batch_max = 4;
    client *c = client_new((cd_rpc_hub_cfg){.service = &service});
    nftest_home = c->loop;
    usize at = 0;
    while (at < text.n) {
        const u8 *end = memchr(text.p + at, '\n', text.n - at);
        usize n = end == NULL ? text.n - at : (usize)(end - text.p) - at;
        run_line(v, c, file, cd_arena_str(&v->arena, cd_bytes_sub(text, at, n)));
        at += n + 1;
    }
    client_turn(c, 20);
    vec_check(v, c->read_cnt == c->said_cnt, "%s: something is said that nobody expects", file);
    client_free(c);
    cd_rpc_table_free(t);
}

int main(void)
{
    vec v = {0};
    DIR *d = opendir(vec_path(&v, "jsonrpc-server"));
    const struct dirent *e;
    if (d == NULL) {
        (void)printf("SKIP jsonrpc-server is missing\n");
        return getenv("CI") != NULL;
    }
    while ((e = readdir(d)) != NULL) {
        if (strstr(e->d_name, ".js") != NULL) {
            run_file(&v, e->d_name);
        }
    }
    (void)closedir(d);
    cd_arena_fini(&v.arena);
    (void)printf("%u passed, %u failed\n", v.passed, v.failed);
    return v.failed != 0;
}
