/* store/kv_mark_priv.h - how far a store was written, kept outside of its log.
 *
 *   CANDELA-HEAD   [ record 0 | … | record 1 | … ]     1 KiB, written in place, the records in turn
 *   record         magic, turn, written, durable, boot, checksum
 *
 * The engine reads its log up to the first damaged record and takes what it has then for the end. So the number of
 * records written (its sequence number, which only grows) is noted here after each commit, in the other of two records
 * than before: one is whole at any moment.
 *
 *   durable   the engine had synced it: must be there whatever happened
 *   written   the system had it: must be there unless the machine has started anew, which boot tells
 *
 * The note is never ahead of what it promises: it is made after the commit. So it costs a write of some bytes and no
 * sync; what of it a crash of the machine takes along only promises less. A file that is not there promises nothing.
 * Threading: confined to whoever holds the engine's lock. */
#ifndef CD_STORE_KV_MARK_PRIV_H
#define CD_STORE_KV_MARK_PRIV_H

#include "base/mem/buf.h"
#include "base/os/fileio.h"

typedef struct cd__kv_mark {
    cd_fs_cell cell;
    u64 turn; /* number of the record that was written last */
    u64 written;
    u64 durable;
    u8 boot[16]; /* name of this start of the machine; zero when it has none */
} cd__kv_mark;

/* cd__kv_mark_open reads the file in dir, or makes it; *least is the number that the store must have reached.
 * Errors: CD_ECORRUPT when neither record is whole (the mark is open all the same, *least is 0), those of files. */
cd_err cd__kv_mark_open(cd__kv_mark *m, u64 *least, const char *dir, cd_errinfo *why) CD_CHECK;

/* cd__kv_mark_put notes that the store has reached number; is_durable: and that it is synced up to there. When the disk
 * fails an older note stays, which promises less. */
void cd__kv_mark_put(cd__kv_mark *m, u64 number, bool is_durable);

/* cd__kv_mark_reset lets both records begin anew at number. */
cd_err cd__kv_mark_reset(cd__kv_mark *m, u64 number, cd_errinfo *why) CD_CHECK;

/* cd__kv_mark_close closes the file; is_clean: the whole store was synced before, so the note is synced, too. */
void cd__kv_mark_close(cd__kv_mark *m, bool is_clean);

#endif
