/* Certificates, checkpoints and set changes from anybody, beside a network of four: what is read is written again to
 * the last byte, a certificate is good only for the block that was signed, and the book leaves its epoch only for the
 * one that was signed. Checkpoints get a sum that fits. */
#include "crypto/hash/sha2.h"
#include "finality/cert/test/years.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

/* The network, made once: epochs 0 and 1, whose validators the corpus was signed by. */
static world *pool;
static year_epoch epochs[2];
static cd_buf checkpoint;
static cd_fin_book *book;

static const cd_fin_chain chains[] = {{"C", {{0xc}}}};
static const cd_fin_msg block = {.block = {{1, 2, 3}}, .height = 142, .time_ns = 1700000000000000000};

enum { MEMBERS = 4, POOL = 5, ROOM = 8 };

static void make_network(void)
{
    pool = world_new(POOL, 4, 0, false);
    year_make(&epochs[0], pool, 0, 0, MEMBERS);
    year_make(&epochs[1], pool, 1, 1, MEMBERS);
    cd_fin_checkpoint_put(&checkpoint, &epochs[0].epoch, chains, CD_COUNT(chains));
    book = cd_fin_book_init(cd_alloc_aligned(16, cd_fin_book_bytes(ROOM)), ROOM);
}

static void try_cert(cd_bytes b)
{
    cd_fin_cert c;
    cd_buf again = {0};
    if (cd_fin_cert_parse(&c, b) != CD_FLAW_NONE) {
        return;
    }
    cd_fin_cert_put(&again, &c);
    CD_ASSERT(cd_bytes_eq(b, cd_buf_bytes(&again)));
    cd_buf_fini(&again);
    if (cd_fin_book_verify(book, &c, b, &chains[0].id) == CD_FLAW_NONE) {
        CD_ASSERT(memcmp(&c.msg, &block, sizeof block) == 0);
    }
}

static void try_changes(cd_bytes b)
{
    cd_fin_flaw flaw = cd_fin_book_follow(book, b, UINT64_MAX);
    cd_hash32 ids[2];
    cd_fin_epoch_id(&ids[0], &epochs[0].epoch);
    cd_fin_epoch_id(&ids[1], &epochs[1].epoch);
    CD_ASSERT(cd_hash32_eq(&book->id, &ids[book->changes]) &&
              (flaw != CD_FLAW_NONE || cd_fin_set_is_good(&book->epoch.set)));
}

static void try_checkpoint(cd_bytes b)
{
    cd_buf copy = {0};
    cd_hash32 sum;
    cd_buf again = {0};
    cd_buf_put(&copy, b);
    cd_sha256(&sum, b);
    cd_buf_put(&copy, cd_bytes_of(sum.b, 32));
    if (cd_fin_book_open(book, cd_buf_bytes(&copy)) == CD_FLAW_NONE) {
        cd_fin_checkpoint_put(&again, &book->epoch, book->chains, book->chain_cnt);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&copy), cd_buf_bytes(&again)));
    }
    cd_buf_fini(&copy);
    cd_buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_bytes b = cd_bytes_of(data, size);
    if (pool == NULL) {
        make_network();
    }
    CD_ASSERT(cd_fin_book_open(book, cd_buf_bytes(&checkpoint)) == CD_FLAW_NONE);
    if (cd_fin_checkpoint_cnt(b) != 0) {
        try_checkpoint(b);
    } else if (size > 4 && memcmp(data, "CDFL", 4) == 0) {
        try_changes(b);
    } else {
        try_cert(b);
    }
    return 0;
}
