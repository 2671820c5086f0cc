/* plugin/wire/wire.h - the messages between a node and its plugins, as structs and tables of codec/proto.
 *
 *   vm.def, services.def, tunnel.def ──► struct cd_wire_NAME and table cd_wire_NAME_type
 *
 * A repeated member is a cd_proto_list, a message a pointer; what is optional has has_… beside it, which holds the
 * field's number when it is there. Threading: pure. [spec:plugin#3] */
#ifndef CD_PLUGIN_WIRE_H
#define CD_PLUGIN_WIRE_H

#include "codec/proto.h"

/* Numbers of the protocol: its version, error codes that travel in answers, events of a VM. */
enum {
    CD_WIRE_PROTOCOL = 42,
    CD_WIRE_CLOSED = 1,
    CD_WIRE_NOT_FOUND = 2,
    CD_WIRE_NO_STATE_SYNC = 3,
    CD_WIRE_BUILD_BLOCK = 1,
    CD_WIRE_SYNC_FINISHED = 2,
    CD_WIRE_EOF = 1,
    CD_WIRE_TIME_OVER = 2, /* the deadline of a connection that was taken over has passed */
};

/* What a plugin of ours tells in its health while it syncs its state: {"items": …, "permille": …, "secondsLeft": …}. */
#define CD_WIRE_SYNC_KEY "stateSync"

/* The definitions of the structs. */
#define BEGIN(msg, name)                     typedef struct cd_wire_##msg {
#define FIELD(msg, number, kind, type, name) type name;
#define LIST(msg, number, kind, name)        cd_proto_list name;
#define MANY(msg, number, of, name)          cd_proto_list name;
#define ONE(msg, number, of, name)           cd_wire_##of *name;
#define OPTIONAL(msg, number, kind, type, name)                                                                        \
    type name;                                                                                                         \
    u32 has_##name;
#define END(msg, name)                                                                                                 \
    }                                                                                                                  \
    cd_wire_##msg;                                                                                                     \
    extern const cd_proto_type cd_wire_##msg##_type;
// clang-format off
#include "plugin/wire/vm.def"
#include "plugin/wire/services.def"
#include "plugin/wire/tunnel.def"
// clang-format on
#undef BEGIN
#undef FIELD
#undef LIST
#undef MANY
#undef ONE
#undef OPTIONAL
#undef END

/* cd_wire_list makes a repeated member of cnt elements that lie at v, borrowed. */
CD_INLINE cd_proto_list cd_wire_list(const void *v, usize cnt)
{
    return (cd_proto_list){.v = (void *)(usize)v, .cnt = (u32)cnt};
}

/* CD_WIRE_PUT(out, msg, ptr) appends a message, CD_WIRE_PARSE(out, msg, arena, bytes, why) reads one. */
#define CD_WIRE_PUT(out, msg, ptr) cd_proto_put((out), &cd_wire_##msg##_type, (const cd_wire_##msg *)(ptr))
#define CD_WIRE_PARSE(out, msg, arena, bytes, why)                                                                     \
    cd_proto_parse((cd_wire_##msg *)(out), &cd_wire_##msg##_type, (arena), (bytes), (why))

/* A message and the name that it has here, for tests and fuzzers. */
typedef struct cd_wire_name {
    const char *name; /* "db_key" */
    const cd_proto_type *type;
} cd_wire_name;

/* cd_wire_names gives all messages. */
const cd_wire_name *cd_wire_names(usize *cnt);

#endif
