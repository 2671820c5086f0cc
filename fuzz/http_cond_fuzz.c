/* Conditional headers: dates that are read are written back the same; a list names a tag only if it holds it. */
#include "net/http/cond.h"

#include "net/http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cd_bytes in = cd_bytes_of(data, size);
    char text[CD_HTTP_DATE_LEN];
    u64 s;
    u64 again;
    if (cd_http_date_parse(&s, in) == CD_OK) {
        cd_http_date_fmt(text, s);
        CD_ASSERT(cd_http_date_parse(&again, cd_bytes_of(text, sizeof text)) == CD_OK && again == s);
    }
    bool matches = cd_http_etag_matches(in, cd_bytes_str("\"tag\""));
    bool holds = cd_bytes_eq(in, cd_bytes_str("*"));
    for (usize i = 0; i + 5 <= size; i++) {
        holds = holds || memcmp(data + i, "\"tag\"", 5) == 0;
    }
    CD_ASSERT(!matches || holds);
    return 0;
}
