/* apps/cli/decode/kinds.h - kinds of bytes that chains write, and how each is shown.
 *
 *   bytes ──► cd__bytes_show ──► {"kind":"p-tx","bytes":299,"id":"…",…,"value":{…}}
 *
 * The codec has no mark that tells kinds apart, so bytes are what they can be read as to their last byte; those that
 * could be several kinds are shown as the first of the table, and the others are named beside it.
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_KINDS_H
#define CD_APPS_CLI_KINDS_H

#include "codec/linear.h"
#include "types/network.h"

/* Where and how things are shown. */
typedef struct cd__show {
    cd_json_w *w;
    cd_arena *mem;
    const cd_network *network; /* for addresses; NULL: the one that the bytes name, or the main network */
    bool is_named;             /* the user has named the kind */
} cd__show;

typedef struct cd__kind cd__kind;

/* Writes what bytes say as members of the open object. On failure the caller takes back what was written. */
typedef cd_err cd__show_fn(cd__show *s, const cd__kind *k, cd_bytes b, cd_errinfo *why);

/* What a document of the linear codec is: a transaction, a block or something else. */
typedef enum cd__role {
    CD__PLAIN,
    CD__TX,
    CD__UNSIGNED, /* a transaction without its credentials */
    CD__BLOCK,
    CD__UTXO,
} cd__role;

/* A kind. */
struct cd__kind {
    const char *name;
    cd__show_fn *show;
    const cd_linear_type *table; /* table for the linear codec; NULL: another codec */
    const char *chain;           /* letter of its addresses: "P" */
    cd__role role;
};

/* A transaction of any chain: a body and credentials. */
typedef struct cd__signed_tx {
    cd_linear_any body;
    cd_linear_list creds;
} cd__signed_tx;

/* cd__kind_find gives a kind by its name; NULL: there is none. cd__kind_names appends all names with commas
 * between them, per_line on each line (0: all on one). */
const cd__kind *cd__kind_find(const char *name);
void cd__kind_names(cd_buf *out, usize per_line);

/* cd__network_for gives the network whose addresses a document of that kind is shown with: the one that the user
 * named, else the one that a transaction in it names, else the main network. */
cd_network cd__network_for(const cd__show *s, const cd__kind *k, const void *v);

/* cd__kind_show writes bytes of a kind as an object; on failure it writes nothing. why says what is wrong with them. */
cd_err cd__kind_show(cd__show *s, const cd__kind *k, cd_bytes b, cd_errinfo *why) CD_CHECK;

/* cd__bytes_show writes bytes as the first kind that they can be read as. Errors: CD_EFORMAT when there is none. */
cd_err cd__bytes_show(cd__show *s, cd_bytes b, cd_errinfo *why) CD_CHECK;

/* cd__put_id writes a member that is an ID. */
void cd__put_id(cd_json_w *w, const char *key, const cd_hash32 *id);

/* Kinds that hold others: blocks of the proposer wrapper, Warp messages and their payloads; the P-Chain's genesis. */
cd__show_fn cd__show_outer;
cd__show_fn cd__show_warp_message;
cd__show_fn cd__show_warp_unsigned;
cd__show_fn cd__show_warp_payload;
cd__show_fn cd__show_genesis;

#endif
