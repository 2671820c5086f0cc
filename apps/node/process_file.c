#include "process_file.h"

#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool cd__process_file_write(const char *path, const char *uri, const char *staking)
{
    char fresh[4096];
    if (path[0] == '\0') {
        return true;
    }
    (void)snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *f = fopen(fresh, "we");
    bool is_good = f != NULL && fprintf(f, "{\n  \"pid\": %d,\n  \"uri\": \"%s\",\n  \"stakingAddress\": \"%s\"\n}",
                                        getpid(), uri, staking) > 0;
    is_good = (f == NULL || fclose(f) == 0) && is_good && rename(fresh, path) == 0;
    if (!is_good) {
        cd_errinfo why;
        (void)cd_fail(&why, CD_EIO, "%.200s: cannot write: %s", path, strerror(errno));
        cd__report("error", NULL, why.msg, "another place: --process-context-file=FILE");
    }
    return is_good;
}
