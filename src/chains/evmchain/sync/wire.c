#include "chains/evmchain/sync/wire.h"

#include "crypto/hash/keccak.h"

/* --- questions --- */

static const cd_linear_field bytes_elem = {.kind = CD_LINEAR_BYTES};
static const cd_linear_field hash_elem = {.kind = CD_LINEAR_FIXED, .len = 32};

static const cd_linear_field ask_blocks_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_sync_ask_blocks, hash, NULL, .len = 32),
    CD_LINEAR_FIELD(U64, cd_sync_ask_blocks, height, NULL),
    CD_LINEAR_FIELD(U16, cd_sync_ask_blocks, cnt, NULL),
};
static const cd_linear_type ask_blocks_type = CD_LINEAR_TYPE(cd_sync_ask_blocks, ask_blocks_fields);

/* The last field is the C-Chain's alone. */
static const cd_linear_field ask_leafs_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_sync_ask_leafs, root, NULL, .len = 32),
    CD_LINEAR_FIELD(FIXED, cd_sync_ask_leafs, account, NULL, .len = 32),
    CD_LINEAR_FIELD(BYTES, cd_sync_ask_leafs, start, NULL, .len = CD_SYNC_LEAFS_MAX),
    CD_LINEAR_FIELD(BYTES, cd_sync_ask_leafs, end, NULL, .len = CD_SYNC_LEAFS_MAX),
    CD_LINEAR_FIELD(U16, cd_sync_ask_leafs, limit, NULL),
    CD_LINEAR_FIELD(U8, cd_sync_ask_leafs, of, NULL),
};
static const cd_linear_type ask_leafs_c_type = CD_LINEAR_TYPE(cd_sync_ask_leafs, ask_leafs_fields);
static const cd_linear_type ask_leafs_l1_type = {
    .fields = ask_leafs_fields, .cnt = CD_COUNT(ask_leafs_fields) - 1, .size = sizeof(cd_sync_ask_leafs)};

static const cd_linear_field ask_code_fields[] = {
    CD_LINEAR_FIELD(LIST, cd_sync_ask_code, hashes, NULL, .elem = &hash_elem, .len = CD_SYNC_LEAFS_MAX),
};
static const cd_linear_type ask_code_type = CD_LINEAR_TYPE(cd_sync_ask_code, ask_code_fields);

/* In the order of cd_sync_kind. The numbers between are those of the answers, which are written without. */
static const cd_linear_case cases[][3] = {
    [CD_SYNC_C] = {{3, &ask_blocks_type}, {5, &ask_leafs_c_type}, {7, &ask_code_type}},
    [CD_SYNC_L1] = {{2, &ask_blocks_type}, {4, &ask_leafs_l1_type}, {6, &ask_code_type}},
};
static const cd_linear_union asks[] = {
    [CD_SYNC_C] = CD_LINEAR_UNION(cases[CD_SYNC_C]),
    [CD_SYNC_L1] = CD_LINEAR_UNION(cases[CD_SYNC_L1]),
};

typedef struct document {
    cd_linear_any ask;
} document;

static const cd_linear_field c_fields[] = {CD_LINEAR_FIELD(UNION, document, ask, NULL, .any = &asks[CD_SYNC_C])};
static const cd_linear_field l1_fields[] = {CD_LINEAR_FIELD(UNION, document, ask, NULL, .any = &asks[CD_SYNC_L1])};
static const cd_linear_type documents[] = {
    [CD_SYNC_C] = CD_LINEAR_TYPE(document, c_fields),
    [CD_SYNC_L1] = CD_LINEAR_TYPE(document, l1_fields),
};

cd_err cd_sync_ask_parse(cd_sync_ask *out, cd_arena *a, cd_sync_family family, cd_bytes in, cd_errinfo *why)
{
    document d = {{0}};
    CD_TRY(cd_linear_parse(&d, &documents[family], a, in, CD_SYNC_MESSAGE_MAX, why));
    *out = (cd_sync_ask){.kind = (cd_sync_kind)(d.ask.is - cases[family])};
    switch (out->kind) {
    case CD_SYNC_BLOCKS:
        out->blocks = *(const cd_sync_ask_blocks *)d.ask.v;
        break;
    case CD_SYNC_LEAFS:
        out->leafs = *(const cd_sync_ask_leafs *)d.ask.v;
        out->leafs.of = family == CD_SYNC_C ? out->leafs.of : CD_SYNC_OF_STATE;
        break;
    case CD_SYNC_CODE:
        out->code = *(const cd_sync_ask_code *)d.ask.v;
        break;
    }
    return CD_OK;
}

void cd_sync_ask_put(cd_buf *out, cd_sync_family family, const cd_sync_ask *ask)
{
    cd_sync_ask copy = *ask;
    document d = {.ask = {.is = &cases[family][ask->kind], .v = &copy.blocks}}; /* all members begin there */
    cd_linear_put(out, &documents[family], &d);
}

/* --- answers --- */

static const cd_linear_field leafs_fields[] = {
    CD_LINEAR_FIELD(LIST, cd_sync_leafs, keys, NULL, .elem = &bytes_elem),
    CD_LINEAR_FIELD(LIST, cd_sync_leafs, values, NULL, .elem = &bytes_elem),
    CD_LINEAR_FIELD(LIST, cd_sync_leafs, proof, NULL, .elem = &bytes_elem),
};
const cd_linear_type cd_sync_leafs_table = CD_LINEAR_TYPE(cd_sync_leafs, leafs_fields);

static const cd_linear_field items_fields[] = {
    CD_LINEAR_FIELD(LIST, cd_sync_items, items, NULL, .elem = &bytes_elem),
};
const cd_linear_type cd_sync_items_table = CD_LINEAR_TYPE(cd_sync_items, items_fields);

/* --- summaries --- */

/* The last field is the C-Chain's alone. */
static const cd_linear_field summary_fields[] = {
    CD_LINEAR_FIELD(U64, cd_sync_summary, height, NULL),
    CD_LINEAR_FIELD(FIXED, cd_sync_summary, hash, NULL, .len = 32),
    CD_LINEAR_FIELD(FIXED, cd_sync_summary, root, NULL, .len = 32),
    CD_LINEAR_FIELD(FIXED, cd_sync_summary, atomic_root, NULL, .len = 32),
};
static const cd_linear_type summaries[] = {
    [CD_SYNC_C] = CD_LINEAR_TYPE(cd_sync_summary, summary_fields),
    [CD_SYNC_L1] = {.fields = summary_fields, .cnt = CD_COUNT(summary_fields) - 1, .size = sizeof(cd_sync_summary)},
};

cd_err cd_sync_summary_parse(cd_sync_summary *out, cd_hash32 *id, cd_sync_family family, cd_bytes in, cd_errinfo *why)
{
    cd_arena a = {0};
    *out = (cd_sync_summary){0};
    cd_err e = cd_linear_parse(out, &summaries[family], &a, in, CD_SYNC_MESSAGE_MAX, why);
    if (e == CD_OK && id != NULL) {
        cd_keccak256(id, in);
    }
    cd_arena_fini(&a);
    return e;
}

void cd_sync_summary_put(cd_buf *out, cd_sync_family family, const cd_sync_summary *s)
{
    cd_linear_put(out, &summaries[family], s);
}
