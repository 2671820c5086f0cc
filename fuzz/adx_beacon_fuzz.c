/* Tokens: what is read reads back to the same, nothing that was changed is believed, and amounts of any form are
 * read without surprises. [spec:adx#4.3] */
#include "services/adx/exchange/token.h"
#include "services/adx/openrtb/money.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Below zero up is away from it. */
static bool is_negative(cd_bytes in)
{
    return in.n != 0 && in.p[0] == '-';
}

static void check_money(cd_bytes in)
{
    char text[CD_MICRO_TEXT_MAX];
    cd_micro down;
    cd_micro up;
    cd_micro again;
    if (is_negative(in) || cd_micro_parse(&down, in, CD_MICRO_DOWN) != CD_OK || down < 0 ||
        cd_micro_parse(&up, in, CD_MICRO_UP) != CD_OK) {
        return;
    }
    CD_ASSERT(up == down || up == down + 1);
    CD_ASSERT(cd_micro_parse(&again, cd_bytes_of(text, cd_micro_fmt(text, down)), CD_MICRO_UP) == CD_OK);
    CD_ASSERT(again == down);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cd_hmac_sha256_key key;
    cd_token t = {.is_campaign = true, .expires_s = 7, .price = 5, .lease = 3};
    cd_token out;
    cd_buf text = {0};
    cd_hmac_sha256_init(&key, cd_bytes_str("0123456789abcdef0123456789abcdef"));
    check_money(cd_bytes_of(data, size));
    CD_ASSERT(cd_token_read(&out, &key, cd_bytes_of(data, size)) != CD_OK); // nobody guesses sixteen bytes
    usize n = size < CD_TOKEN_ID_MAX ? size : CD_TOKEN_ID_MAX;
    for (usize i = 0; i < n && data[i] != 0; i++) {
        t.payer[i] = t.publisher[n - 1 - i] = (char)data[i];
    }
    cd_token_put(&text, &key, &t);
    cd_err err = cd_token_read(&out, &key, cd_buf_bytes(&text));
    CD_ASSERT(err == CD_OK && strcmp(out.payer, t.payer) == 0 && out.price == 5 && out.lease == 3);
    if (size >= 2) {
        text.p[data[0] % text.n] ^= (u8)(data[1] | 1);
        CD_ASSERT(cd_token_read(&out, &key, cd_buf_bytes(&text)) != CD_OK);
    }
    cd_buf_fini(&text);
    return 0;
}
