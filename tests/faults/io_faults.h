/* tests/faults/io_faults.h - a disk that fails on demand, under everything that this process does through libc.
 *
 * Linked into a program (or preloaded into one), io_faults.c stands before the calls of libc that touch files; the
 * embedded key-value engine is no exception. Calls on paths below one directory are counted, those of the main
 * thread and those of all others apart, which makes the n-th call of a repeated run the same call. One planned call
 * then fails, stops short or is the last thing that the process does. Streams made by fdopen read through here as
 * well. Data are not forced to the medium: a process dies here, not the machine.
 *
 * Preloaded, the environment says what to do: IO_FAULTS_DIR, the directory; IO_FAULTS_FULL, a file: while it exists,
 * every call that needs space fails with ENOSPC; IO_FAULTS_BROKEN, the same with every write and EIO.
 *
 * Threading: shared. */
#ifndef CD_TESTS_FAULTS_IO_FAULTS_H
#define CD_TESTS_FAULTS_IO_FAULTS_H

#include "base/base.h"

typedef enum io_op {
    IO_OPEN,   /* to read */
    IO_CREATE, /* to write */
    IO_READ,
    IO_WRITE,
    IO_SYNC,
    IO_GROW, /* ftruncate, fallocate */
    IO_RENAME,
    IO_UNLINK,
    IO_MKDIR,
    IO_LIST,
} io_op;

typedef enum io_fault {
    IO_NONE,
    IO_EIO,
    IO_ENOSPC,
    IO_EINTR,
    IO_SHORT, /* one byte is read or written */
    IO_KILL_BEFORE,
    IO_KILL_AFTER,
    IO_KILL_TORN, /* half of a write, then death */
    IO_FAULTS,
} io_fault;

enum { IO_LANES = 2, IO_LOG = 4096, IO_WHAT = 120 };

/* What is planned and what was seen; lies in memory that outlives the process when somebody wants to know. */
typedef struct io_state {
    u32 lane; /* 0: main thread, 1: the others */
    u32 at;   /* this call of the lane, from 1; if the fault makes no sense there, the next where it does */
    io_fault fault;
    u32 seen[IO_LANES];
    bool is_hit;
    char what[IO_WHAT];       /* the call that was hit */
    u8 ops[IO_LANES][IO_LOG]; /* io_op of every call */
} io_state;

/* io_faults_watch starts to count, and to fail as *st says, calls below dir (absolute); both borrowed. */
void io_faults_watch(const char *dir, io_state *st);

/* io_faults_end lets everything happen from now on. */
void io_faults_end(void);

/* io_fault_fits tells whether a kind of call can end so. */
bool io_fault_fits(io_fault f, io_op op);

const char *io_fault_name(io_fault f);

#endif
