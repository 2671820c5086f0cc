/* finality/wasm/libc/oqs/oqs.h - what the portable ML-DSA code asks for of the library that it comes from.
 * Threading: pure. */
#ifndef CD_FINALITY_WASM_OQS_H
#define CD_FINALITY_WASM_OQS_H

#include <stddef.h>
#include <stdint.h>

/* Nothing is exported from here. */
#define OQS_API

#endif
