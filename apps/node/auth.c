#include "auth.h"

#include "base/mem/secret.h"
#include "base/os/fileio.h"
#include "report.h"

enum { FILE_MAX = 2048 };

static cd_secret password; /* read from the file, and wiped once the node is open */

static usize line_len(const cd_buf *text)
{
    usize n = 0;
    while (n < text->n && text->p[n] != '\n' && text->p[n] != '\r') {
        n++;
    }
    return n;
}

bool cd__auth_load(cd_node_cfg *out, const cd_args *a, cd_arena *mem)
{
    const char *path = cd_args_path(a, mem, OPT_AUTH_PASSWORD);
    cd_errinfo why = {0};
    cd_buf text = {0};
    if (!cd_args_bool(a, OPT_AUTH)) {
        return true;
    }
    if (path[0] == '\0') {
        cd__report("error", NULL, "--api-auth-required needs --api-auth-password-file=FILE", "");
        return false;
    }
    (void)cd_buf_reserve(&text, (usize)2 * FILE_MAX); /* what fits is never moved, so nothing stays behind */
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, FILE_MAX, &why);
    usize n = line_len(&text);
    if (e == CD_OK && n == 0) {
        e = cd_fail(&why, CD_EINVAL, "%s: the password is empty", path);
    }
    if (e == CD_OK) {
        cd_secret_init(&password, n);
        memcpy(password.p, text.p, n);
        out->auth_password = cd_bytes_of(password.p, n);
    } else {
        cd__report("error", NULL, why.msg, "");
    }
    if (text.n != 0) {
        cd_wipe(text.p, text.n);
    }
    cd_buf_fini(&text);
    return e == CD_OK;
}

void cd__auth_forget(void)
{
    cd_secret_fini(&password);
}
