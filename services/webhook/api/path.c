#include "services/webhook/api/path.h"

/* Takes "/name" off the front. */
static cd_bytes segment(cd_bytes *rest)
{
    const u8 *slash = rest->n <= 1 ? NULL : memchr(rest->p + 1, '/', rest->n - 1);
    usize n = slash == NULL ? rest->n : (usize)(slash - rest->p);
    cd_bytes out = cd_bytes_sub(*rest, 0, n);
    *rest = cd_bytes_sub(*rest, n, rest->n - n);
    return out;
}

bool cd_wh_path_fits(const char *template, cd_bytes path, cd_bytes params[2])
{
    cd_bytes want = cd_bytes_str(template);
    usize cnt = 0;
    while (want.n != 0 && path.n != 0) {
        cd_bytes w = segment(&want);
        cd_bytes p = segment(&path);
        bool takes = w.n > 1 && w.p[1] == '{';
        if (takes && p.n >= 2 && p.n <= CD_WH_ID_MAX) {
            params[cnt++] = cd_bytes_sub(p, 1, p.n - 1);
        } else if (takes || !cd_bytes_eq(w, p)) {
            return false;
        }
    }
    return want.n == 0 && path.n == 0;
}
