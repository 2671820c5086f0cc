#include "plugin/wire/wire.h"

/* Tables of fields: BEGIN opens the table of a message, FIELD is a row; the struct follows from the message's name. */
#define BEGIN(msg, name_)                    static const cd_proto_field msg##_fields[] = {
#define FIELD(msg, number, kind, type, name) CD_PROTO_FIELD(number, kind, cd_wire_##msg, name),
#define LIST(msg, number, kind, name)        CD_PROTO_FIELD(number, kind, cd_wire_##msg, name, .is_repeated = true),
#define MANY(msg, number, of_, name)                                                                                   \
    CD_PROTO_FIELD(number, MSG, cd_wire_##msg, name, .is_repeated = true, .of = &cd_wire_##of_##_type),
#define ONE(msg, number, of_, name) CD_PROTO_FIELD(number, MSG, cd_wire_##msg, name, .of = &cd_wire_##of_##_type),
#define OPTIONAL(msg, number, kind, type, name)                                                                        \
    CD_PROTO_FIELD(number, kind, cd_wire_##msg, name, .is_oneof = true, .which = offsetof(cd_wire_##msg, has_##name)),
#define END(msg, name_)                                                                                                \
    }                                                                                                                  \
    ;                                                                                                                  \
    const cd_proto_type cd_wire_##msg##_type = CD_PROTO_TYPE(cd_wire_##msg, msg##_fields, name_);
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

#define BEGIN(msg, name_) {#msg, &cd_wire_##msg##_type},
#define FIELD(msg, number, kind, type, name)
#define LIST(msg, number, kind, name)
#define MANY(msg, number, of_, name)
#define ONE(msg, number, of_, name)
#define OPTIONAL(msg, number, kind, type, name)
#define END(msg, name_)
static const cd_wire_name names[] = {
// clang-format off
#include "plugin/wire/vm.def"
#include "plugin/wire/services.def"
#include "plugin/wire/tunnel.def"
    // clang-format on
};

const cd_wire_name *cd_wire_names(usize *cnt)
{
    *cnt = CD_COUNT(names);
    return names;
}
