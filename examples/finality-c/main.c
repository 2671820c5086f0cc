/* A program of somebody who does not trust nodes: says whether a block of the C-Chain is final.
 *
 * usage: is-final CHECKPOINT CERTIFICATE [CHANGES]      exit code 0: final, 1: not, 2: wrong arguments */
#include "finality/cert/book.h"

#include <stdio.h>
#include <stdlib.h>

enum { VALIDATORS = 256, INPUT_MAX = 8 << 20 };

/* Nothing below takes memory: a book is as large as the program says, once. */
static _Alignas(16) u8 memory[1 << 20];

static u8 files[3][INPUT_MAX]; /* checkpoint, certificate, changes */

static cd_bytes read_file(u8 *p, const char *name)
{
    FILE *f = fopen(name, "rb");
    if (f == NULL) {
        perror(name);
        exit(2);
    }
    usize n = fread(p, 1, INPUT_MAX, f);
    (void)fclose(f);
    return cd_bytes_of(p, n);
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        (void)fprintf(stderr, "usage: is-final CHECKPOINT CERTIFICATE [CHANGES]\n");
        return 2;
    }
    CD_ASSERT(cd_fin_book_bytes(VALIDATORS) <= sizeof memory);
    cd_fin_book *book = cd_fin_book_init(memory, VALIDATORS);
    cd_bytes certificate = read_file(files[1], argv[2]);
    cd_fin_cert cert = {0};

    cd_fin_flaw flaw = cd_fin_book_open(book, read_file(files[0], argv[1]));
    if (flaw == CD_FLAW_NONE) {
        flaw = cd_fin_cert_parse(&cert, certificate);
    }
    if (flaw == CD_FLAW_NONE && argc == 4) {
        flaw = cd_fin_book_follow(book, read_file(files[2], argv[3]), cert.msg.height);
    }
    const cd_hash32 *chain = cd_fin_book_chain(book, cd_bytes_str("C"));
    if (flaw == CD_FLAW_NONE && chain != NULL) {
        flaw = cd_fin_book_verify(book, &cert, certificate, chain);
    }
    bool is_final = flaw == CD_FLAW_NONE && chain != NULL && cd_fin_is_final(cert.type) && book->is_quantum_final;
    (void)printf("%s: %s\n", is_final ? "final" : "not final", cd_fin_flaw_text(flaw));
    return is_final ? 0 : 1;
}
