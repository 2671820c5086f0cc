/* finality/wasm/libc/randombytes.h - randomness, which only makers of keys ask for: they are left out of the module.
 * Threading: pure. */
#ifndef CD_FINALITY_WASM_RANDOMBYTES_H
#define CD_FINALITY_WASM_RANDOMBYTES_H

#include <stddef.h>
#include <stdint.h>

/* randombytes is nowhere defined. */
void randombytes(uint8_t *out, size_t n);

#endif
