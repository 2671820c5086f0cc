/* The samples of testdata/adx/vast, read, given our beacons and written again: each stays valid by the schema of its
 * version (xmllint, once macros are no brackets), keeps what it had, and has an impression more. [spec:adx#4.2] */
#include "services/adx/vast/tree.h"
#include "tests/vectors/vec.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/adx-vast-XXXXXX";

static bool has_suffix(const char *path, const char *suffix)
{
    usize n = strlen(path);
    usize k = strlen(suffix);
    return n >= k && strcmp(path + n - k, suffix) == 0;
}

/* [NAME] becomes NAME. */
static void plain(cd_buf *b)
{
    usize to = 0;
    for (usize i = 0; i < b->n; i++) {
        usize k = i + 1;
        while (b->p[i] == '[' && k < b->n && ((b->p[k] >= 'A' && b->p[k] <= 'Z') || b->p[k] == '_')) {
            k++;
        }
        if (b->p[i] == '[' && k > i + 1 && k < b->n && b->p[k] == ']') {
            memmove(b->p + to, b->p + i + 1, k - i - 1);
            to += k - i - 1;
            i = k;
        } else {
            b->p[to++] = b->p[i];
        }
    }
    b->n = to;
}

static bool is_valid(vec *v, cd_buf *doc, const char *version)
{
    const char *file = cd_arena_fmt(&v->arena, "%s/doc.xml", dir);
    const char *schema = vec_path(v, cd_arena_fmt(&v->arena, "adx/vast/xsd/vast_%s.xsd", version));
    cd_errinfo why = {0};
    int status = -1;
    plain(doc);
    if (cd_fs_replace_file(cd_fs_real(), file, cd_buf_bytes(doc), 0600, &why) != CD_OK) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(null, STDERR_FILENO);
        (void)execlp("xmllint", "xmllint", "--noout", "--nonet", "--schema", schema, file, (char *)NULL);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static usize count(cd_bytes in, const char *what)
{
    usize n = 0;
    usize len = strlen(what);
    for (usize i = 0; i + len <= in.n; i++) {
        n += memcmp(in.p + i, what, len) == 0;
    }
    return n;
}

static const char *version_of_path(const char *path)
{
    return strstr(path, "4.0") != NULL ? "4.0" : strstr(path, "4.1") != NULL ? "4.1" : "4.2";
}

static void check_tracked(vec *v, const char *path, cd_vast_tree *t, cd_bytes before)
{
    const cd_vast_ad ad = {.beacons = cd_bytes_str("https://x.example/t/"), .token = cd_bytes_str("TOKEN")};
    cd_buf out = {0};
    usize ads = count(before, "<InLine>") + count(before, "<Wrapper");
    u32 tracked = cd_vast_tree_track(t, &ad);
    cd_vast_tree_put(&out, t);
    cd_bytes after = cd_buf_bytes(&out);
    vec_check(v, tracked == ads, "%s: %u of %zu ads", path, tracked, ads);
    vec_check(v, count(after, "<Impression") == count(before, "<Impression") + ads, "%s: impressions", path);
    vec_check(v, count(after, "/t/complete?b=TOKEN") == count(after, "<Linear"), "%s: events", path);
    vec_check(v, is_valid(v, &out, version_of_path(path)), "%s: not valid with our beacons", path);
    cd_buf_fini(&out);
}

static cd_err on_sample(void *ctx, const char *path, cd_fs_kind kind)
{
    vec *v = ctx;
    cd_bytes text;
    cd_vast_tree *t;
    cd_errinfo why = {0};
    cd_buf out = {0};
    if (kind != CD_FS_FILE || !has_suffix(path, ".xml") || !vec_read(v, &text, path)) {
        return CD_OK;
    }
    cd_err err = cd_vast_tree_parse(&t, &v->arena, text, &why);
    vec_check(v, err == CD_OK, "%s: %s", path, why.msg);
    if (err != CD_OK) {
        return CD_OK;
    }
    cd_vast_tree_put(&out, t);
    cd_bytes written = cd_arena_dup(&v->arena, cd_buf_bytes(&out));
    vec_check(v, is_valid(v, &out, version_of_path(path)), "%s: not valid as it was", path);
    /* What is written reads back to the same. */
    cd_vast_tree *again;
    err = cd_vast_tree_parse(&again, &v->arena, written, &why);
    cd_buf_clear(&out);
    if (err == CD_OK) {
        cd_vast_tree_put(&out, again);
    }
    vec_check(v, err == CD_OK && cd_bytes_eq(cd_buf_bytes(&out), written), "%s: not the same again", path);
    check_tracked(v, path, t, written);
    cd_buf_fini(&out);
    return CD_OK;
}

int main(void)
{
    vec v = {0};
    if (mkdtemp(dir) == NULL) {
        return 1;
    }
    cd_buf wrong = {0};
    cd_buf_str(&wrong, "<VAST version=\"4.2\" xmlns=\"http://www.iab.com/VAST\"><Ad><InLine/></Ad></VAST>");
    vec_walk(&v, "adx/vast/samples", on_sample);
    vec_check(&v, v.is_missing || !is_valid(&v, &wrong, "4.2"), "a document without anything is valid");
    cd_buf_fini(&wrong);
    vec_walk(&v, "adx/vast/own", on_sample);
    return vec_end(&v);
}
