/* Formatted text for curl's buffers. Its own function appends byte by byte, which was a fifth of what a request with a
 * dozen header lines cost; formats are those of printf, which its compiler attributes check. */
#include "curl_setup.h" /* first, as everywhere in curl */

#include "curl_printf.h"
#include "curlx/dynbuf.h"

#include <stdio.h>

int curlx_dyn_vprintf(struct dynbuf *to, const char *format, va_list args)
{
    char text[2048];
    char *p = text;
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(text, sizeof text, format, args);
    if (n >= (int)sizeof text) {
        p = curlx_malloc((size_t)n + 1);
        n = p == NULL ? -1 : vsnprintf(p, (size_t)n + 1, format, again);
    }
    va_end(again);
    CURLcode result = n < 0 ? CURLE_OUT_OF_MEMORY : curlx_dyn_addn(to, p, (size_t)n);
    if (n < 0) {
        curlx_dyn_free(to);
    }
    if (p != text) {
        curlx_free(p);
    }
    return result == CURLE_OK ? 0 : result == CURLE_TOO_LARGE ? MERR_TOO_LARGE : MERR_MEM;
}
