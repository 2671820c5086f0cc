/* Feeds every file of the given folders to the fuzz entry point: the committed corpora as a plain test,
 * with a compiler that has no libFuzzer. */
#include "base/bytes.h"
#include "base/mem/mem.h"

#include <dirent.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static bool replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return false;
    }
    enum { CAP = 1 << 20 };
    u8 *buf = cd_alloc(CAP);
    usize n = fread(buf, 1, CAP, f);
    /* An exact-size copy lets the address sanitizer see one byte too far. */
    u8 *exact = cd_alloc(n);
    memcpy(exact, buf, n);
    (void)LLVMFuzzerTestOneInput(exact, n);
    cd_free(exact);
    cd_free(buf);
    (void)fclose(f);
    return true;
}

int main(int argc, char **argv)
{
    unsigned cnt = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (dir == NULL) {
            (void)fprintf(stderr, "no corpus at %s\n", argv[i]);
            return 1;
        }
        struct dirent *e;
        while ((e = readdir(dir)) != NULL) {
            char path[4096];
            (void)snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            if (e->d_name[0] != '.' && replay_file(path)) {
                cnt++;
            }
        }
        (void)closedir(dir);
    }
    (void)printf("%u passed, 0 failed\n", cnt);
    return cnt == 0;
}
