/* grpc/msg_priv.h - the one message that comes on a stream: five bytes of head, and as much as they say.
 *
 * Memory grows with what has come, not with what was announced. Threading: confined. [spec:grpc#1] */
#ifndef CD_GRPC_MSG_PRIV_H
#define CD_GRPC_MSG_PRIV_H

#include "grpc/status.h"

enum { CD__GRPC_HEAD = 5 };

/* Bytes that many streams hold together. */
typedef struct cd__grpc_account {
    usize held;
    usize max;
} cd__grpc_account;

/* A message as far as it has come. */
typedef struct cd__grpc_msg {
    u8 head[CD__GRPC_HEAD];
    u32 head_n;
    bool is_whole;
    usize size; /* bytes of the message, as its head says */
    cd_buf body;
    usize held; /* bytes of body that are counted in the account */
} cd__grpc_msg;

/* cd__grpc_msg_feed takes in what came. *text says what is wrong, when the code is not CD_GRPC_OK. */
u32 cd__grpc_msg_feed(cd__grpc_msg *m, cd_bytes in, usize max, cd__grpc_account *a, const char **text);

/* cd__grpc_msg_fini gives back what m holds; it may be fed again. */
void cd__grpc_msg_fini(cd__grpc_msg *m, cd__grpc_account *a);

/* cd__grpc_head writes the head of a message of n bytes. */
void cd__grpc_head(u8 out[CD__GRPC_HEAD], usize n);

#endif
