/* Any text as a trace: its moments forwards and backwards, and a page of each. */
#include "sim/view.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize n);

int LLVMFuzzerTestOneInput(const u8 *data, usize n)
{
    enum { MOMENTS = 8 };
    cd_film *f = NULL;
    cd_buf page = {0};
    if (cd_film_open(&f, cd_bytes_of(data, n), NULL) != CD_OK) {
        return 0;
    }
    u64 steps = cd_film_steps(f);
    for (u64 i = 0; i < MOMENTS; i++) {
        u64 at = i % 2 == 0 ? steps * i / MOMENTS : steps - steps * i / MOMENTS;
        cd_buf_clear(&page);
        cd_film_page(&page, f, "trace", at, i % 3 == 0 ? CD_FILM_NONE : (u32)i);
    }
    cd_buf_fini(&page);
    cd_film_close(f);
    return 0;
}
