/* finality/wasm/libc/pthread.h - once, where there is one thread. Threading: confined. */
#ifndef CD_FINALITY_WASM_PTHREAD_H
#define CD_FINALITY_WASM_PTHREAD_H

/* As POSIX has them. */
typedef int pthread_once_t;
#define PTHREAD_ONCE_INIT 0
static inline int pthread_once(pthread_once_t *once, void (*run)(void))
{
    if (*once == 0) {
        *once = 1;
        run();
    }
    return 0;
}

#endif
