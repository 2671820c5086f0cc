/* finality/wasm/libc/stdlib.h - included by sources whose use of it is left out of the module. Threading: pure. */
#ifndef CD_FINALITY_WASM_STDLIB_H
#define CD_FINALITY_WASM_STDLIB_H

#include <stddef.h>

#endif
