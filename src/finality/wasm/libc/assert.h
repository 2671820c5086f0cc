/* finality/wasm/libc/assert.h - assertions of the hash's library, which ends the module when one is false. Threading:
 * pure. */
#ifndef CD_FINALITY_WASM_ASSERT_H
#define CD_FINALITY_WASM_ASSERT_H

/* As the C library has it. */
#define assert(cond) ((cond) ? (void)0 : __builtin_trap())

#endif
