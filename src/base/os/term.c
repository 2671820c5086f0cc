#include "base/os/term.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool cd_term_is_tty(int fd)
{
    return isatty(fd) == 1;
}

u32 cd_term_width(int fd)
{
    struct winsize w;
    if (!cd_term_is_tty(fd) || ioctl(fd, TIOCGWINSZ, &w) != 0 || w.ws_col == 0) {
        return CD_TERM_WIDTH_UNKNOWN;
    }
    return w.ws_col < CD_TERM_WIDTH_MAX ? w.ws_col : CD_TERM_WIDTH_MAX;
}

static const char *env_get(const char *name)
{
    const char *v = getenv(name);
    return v == NULL ? "" : v;
}

bool cd_term_has_color(int fd)
{
    return cd_term_is_tty(fd) && env_get("NO_COLOR")[0] == '\0' && strcmp(env_get("TERM"), "dumb") != 0;
}

bool cd_term_has_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (usize i = 0; i < CD_COUNT(names); i++) {
        const char *v = env_get(names[i]);
        if (v[0] != '\0') {
            const char *dot = strchr(v, '.');
            return dot != NULL && (strcasecmp(dot, ".utf-8") == 0 || strcasecmp(dot, ".utf8") == 0);
        }
    }
    return false;
}

usize cd_term_columns(const char *text)
{
    usize n = 0;
    for (; *text != '\0'; text++) {
        n += ((u8)*text & 0xc0) != 0x80;
    }
    return n;
}
