/* The verifier as a WebAssembly module: what the page calls, and the little of a C library that the code below it
 * needs. */
#include "crypto/hash/keccak.h"
#include "crypto/hash/sha2.h"
#include "finality/cert/book.h"

#define EXPORT(name) __attribute__((export_name(name)))

/* --- C library --- */

void *memcpy(void *restrict out, const void *restrict in, size_t n)
{
    return __builtin_memcpy(out, in, n); /* one instruction */
}

void *memmove(void *out, const void *in, size_t n)
{
    return __builtin_memmove(out, in, n);
}

void *memset(void *out, int v, size_t n)
{
    return __builtin_memset(out, v, n);
}

int memcmp(const void *a, const void *b, size_t n)
{
    const u8 *p = a;
    const u8 *q = b;
    int c = 0;
    for (size_t i = 0; i < n && c == 0; i++) {
        c = p[i] - q[i];
    }
    return c;
}

size_t strlen(const char *s)
{
    size_t n = 0;
    while (s[n] != '\0') {
        n++;
    }
    return n;
}

void explicit_bzero(void *out, size_t n)
{
    memset(out, 0, n);
}

/* The compiler's name for a product of 128 bits. */
u128 __multi3(u128 a, u128 b); // NOLINT(bugprone-reserved-identifier)

typedef union wide {
    u128 all;
    u64 half[2];
} wide;

u128 __multi3(u128 a, u128 b) // NOLINT(bugprone-reserved-identifier)
{
    wide x = {.all = a};
    wide y = {.all = b};
    u64 x0 = (u32)x.half[0];
    u64 x1 = x.half[0] >> 32;
    u64 y0 = (u32)y.half[0];
    u64 y1 = y.half[0] >> 32;
    u64 low = x0 * y0;
    u64 mid = x1 * y0 + (low >> 32);
    u64 other = x0 * y1 + (u32)mid;
    wide out;
    out.half[0] = other << 32 | (u32)low;
    out.half[1] = x1 * y1 + (mid >> 32) + (other >> 32) + x.half[0] * y.half[1] + x.half[1] * y.half[0];
    return out.all;
}

void cd_bug(const char *file, int line, const char *what)
{
    (void)file;
    (void)line;
    (void)what;
    __builtin_trap();
}

void cd_wipe(void *p, usize n)
{
    memset(p, 0, n);
}

/* --- memory: the book, then one input after the other --- */

extern u8 __heap_base; // NOLINT(bugprone-reserved-identifier)

enum { PAGE = 65536, CAP = CD_FIN_VALIDATORS_MAX };

static cd_fin_book *book;

/* Makes sure that memory reaches up to end; false: the browser gives no more. */
static bool reach(uintptr_t end)
{
    usize have = __builtin_wasm_memory_size(0);
    usize want = (end + PAGE - 1) / PAGE;
    return want <= have || __builtin_wasm_memory_grow(0, want - have) != SIZE_MAX;
}

static uintptr_t aligned(uintptr_t at)
{
    return (at + 15) / 16 * 16;
}

/* Gives room for an input of n bytes; what was put there before is forgotten. NULL: there is no memory. */
EXPORT("room") u8 *room(u32 n)
{
    uintptr_t at = aligned((uintptr_t)&__heap_base);
    uintptr_t input = aligned(at + cd_fin_book_bytes(CAP));
    if (n > (256u << 20) || !reach(input + n)) {
        return NULL;
    }
    if (book == NULL) {
        book = cd_fin_book_init((void *)at, CAP);
    }
    return (u8 *)input;
}

/* --- what the page calls: each input was put where room said --- */

EXPORT("open") int open_checkpoint(const u8 *p, u32 n)
{
    return (int)cd_fin_book_open(book, cd_bytes_of(p, n));
}

EXPORT("follow") int follow(const u8 *p, u32 n, u64 height)
{
    return (int)cd_fin_book_follow(book, cd_bytes_of(p, n), height);
}

/* The chain's ID stands in front of the certificate. */
EXPORT("verify") int verify(const u8 *p, u32 n)
{
    cd_fin_cert cert;
    cd_hash32 chain;
    if (n < sizeof chain) {
        return CD_FLAW_SHORT;
    }
    memcpy(&chain, p, sizeof chain);
    return (int)cd_fin_book_verify(book, &cert, cd_bytes_of(p + sizeof chain, n - sizeof chain), &chain);
}

/* Whether bytes are a certificate, true or not. */
EXPORT("parse") int parse(const u8 *p, u32 n)
{
    cd_fin_cert cert;
    return (int)cd_fin_cert_parse(&cert, cd_bytes_of(p, n));
}

EXPORT("flaw_name") const char *flaw_name(int flaw)
{
    return cd_fin_flaw_name((cd_fin_flaw)flaw);
}

EXPORT("flaw_text") const char *flaw_text(int flaw)
{
    return cd_fin_flaw_text((cd_fin_flaw)flaw);
}

EXPORT("sum") const u8 *sum(void)
{
    return book->sum.b;
}

EXPORT("network") u32 network(void)
{
    return book->epoch.network;
}

EXPORT("epoch") u64 epoch(void)
{
    return book->epoch.number;
}

EXPORT("from") u64 from(void)
{
    return book->epoch.set.from;
}

EXPORT("total") u64 total(void)
{
    return book->epoch.set.total;
}

EXPORT("validators") u32 validators(void)
{
    return book->epoch.set.cnt;
}

EXPORT("changes") u32 changes(void)
{
    return book->changes;
}

EXPORT("quantum") int quantum(void)
{
    return book->is_quantum_final;
}

EXPORT("chains") u32 chains(void)
{
    return book->chain_cnt;
}

EXPORT("chain_name") const char *chain_name(u32 i)
{
    return i < book->chain_cnt ? book->chains[i].name : "";
}

EXPORT("chain_id") const u8 *chain_id(u32 i)
{
    return i < book->chain_cnt ? book->chains[i].id.b : NULL;
}

/* Give the hash of an input, for proofs of accounts and for the ID of a block. */
EXPORT("keccak") const u8 *keccak(const u8 *p, u32 n)
{
    static cd_hash32 out;
    cd_keccak256(&out, cd_bytes_of(p, n));
    return out.b;
}

EXPORT("sha256") const u8 *sha256(const u8 *p, u32 n)
{
    static cd_hash32 out;
    cd_sha256(&out, cd_bytes_of(p, n));
    return out.b;
}
