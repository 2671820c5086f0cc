#include "decode/input.h"

#include "base/hex.h"
#include "base/os/fileio.h"
#include "base/text.h"
#include "codec/base58.h"
#include "codec/encoding.h"

static bool has_0x(cd_bytes text)
{
    return text.n >= 2 && text.p[0] == '0' && text.p[1] == 'x';
}

/* Are bytes of a file text: characters that can be typed, all of them? */
static bool is_text(cd_bytes b)
{
    bool is = true;
    for (usize i = 0; i < b.n && is; i++) {
        is = (b.p[i] >= ' ' && b.p[i] < 0x7f) || cd_text_is_in(b.p[i], "\t\r\n");
    }
    return is;
}

cd_err cd__input_get(cd__input *out, cd_arena *mem, const char *word, cd_errinfo *why)
{
    cd_fs_stat st;
    cd_buf file = {0};
    bool is_stdin = strcmp(word, "-") == 0;
    cd_bytes b = cd_bytes_str(word);
    if (is_stdin || (cd_fs_stat_get(cd_fs_real(), &st, word, NULL) == CD_OK && st.kind == CD_FS_FILE)) {
        CD_TRY(cd_fs_read_file(cd_fs_real(), &file, is_stdin ? "/dev/stdin" : word, CD__INPUT_MAX, why));
        b = cd_arena_dup(mem, cd_buf_bytes(&file));
        cd_buf_fini(&file);
    }
    out->is_text = is_text(b);
    out->b = out->is_text ? cd_text_trim(b, NULL) : b;
    return out->b.n != 0 ? CD_OK
                         : cd_fail(why, CD_ENOENT, "nothing to decode: %s",
                                   is_stdin ? "standard input is empty" : "the text is empty");
}

bool cd__input_is_hex(cd_bytes text)
{
    usize n = has_0x(text) ? 2 : 0;
    bool is = text.n > n && (text.n - n) % 2 == 0;
    for (usize i = n; i < text.n && is; i++) {
        is = cd_text_is_in(text.p[i], "0123456789abcdefABCDEF");
    }
    return is;
}

cd_err cd__input_bytes(cd_bytes *out, cd_arena *mem, cd_bytes text, cd_errinfo *why)
{
    u8 b[CD_BASE58_BYTES_MAX];
    usize n;
    if (has_0x(text)) {
        return cd_encoding_dec(out, mem, CD_ENCODING_HEX, text, NULL) == CD_OK
                   ? CD_OK
                   : cd_encoding_dec(out, mem, CD_ENCODING_HEXNC, text, why);
    }
    if (cd__input_is_hex(text)) {
        const char *marked = cd_arena_fmt(mem, "0x%.*s", (int)text.n, (const char *)text.p);
        return cd__input_bytes(out, mem, cd_bytes_str(marked), why);
    }
    CD_TRY(cd_cb58_parse(b, &n, text, why));
    *out = cd_arena_dup(mem, cd_bytes_of(b, n));
    return CD_OK;
}
