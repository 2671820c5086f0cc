/* finality/wasm/libc/string.h - what the module's sources use of the C library's header. Threading: pure. */
#ifndef CD_FINALITY_WASM_STRING_H
#define CD_FINALITY_WASM_STRING_H

#include <stddef.h>

/* As the C library has them. */
void *memcpy(void *restrict out, const void *restrict in, size_t n);
void *memmove(void *out, const void *in, size_t n);
void *memset(void *out, int v, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
void explicit_bzero(void *out, size_t n);

#endif
