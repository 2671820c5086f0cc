#include "types/addr_text.h"

#include "base/hex.h"
#include "crypto/hash/keccak.h"

const char *cd_addr_fmt(char out[CD_ADDR_TEXT_SIZE], const cd_addr20 *addr)
{
    enum { DIGITS = 40 };
    cd_hash32 hash;
    char *digits = out + 2;
    out[0] = '0';
    out[1] = 'x';
    cd_hex_fmt(digits, cd_bytes_of(addr->b, 20));
    cd_keccak256(&hash, cd_bytes_of(digits, DIGITS));
    for (int i = 0; i < DIGITS; i++) {
        int nibble = i % 2 == 0 ? hash.b[i / 2] >> 4 : hash.b[i / 2] & 15;
        if (nibble >= 8 && digits[i] >= 'a') {
            digits[i] = (char)(digits[i] - 'a' + 'A');
        }
    }
    digits[DIGITS] = '\0';
    return out;
}
