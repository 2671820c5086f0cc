#include "types/pblock.h"

/* --- tables --- */

#define TIME   CD_LINEAR_FIELD(U64, cd_p_block_body, time, "time")
#define TXS    CD_LINEAR_FIELD(LIST, cd_p_block_body, txs, "txs", .elem = &tx_elem)
#define PARENT CD_LINEAR_FIELD(FIXED, cd_p_block_body, parent, "parentID", .len = 32, .form = CD_LINEAR_ID)
#define HEIGHT CD_LINEAR_FIELD(U64, cd_p_block_body, height, "height")
#define TX     CD_LINEAR_FIELD(STRUCT, cd_p_block_body, tx, "tx", .of = &cd_p_tx_table)

static const cd_linear_field tx_elem = {.kind = CD_LINEAR_STRUCT, .of = &cd_p_tx_table};

static const cd_linear_field apricot_proposal_fields[] = {PARENT, HEIGHT, TX};
static const cd_linear_field apricot_option_fields[] = {PARENT, HEIGHT};
static const cd_linear_field apricot_standard_fields[] = {PARENT, HEIGHT, TXS};
static const cd_linear_field banff_proposal_fields[] = {TIME, TXS, PARENT, HEIGHT, TX};
static const cd_linear_field banff_option_fields[] = {TIME, PARENT, HEIGHT};
static const cd_linear_field banff_standard_fields[] = {TIME, PARENT, HEIGHT, TXS};

static const cd_linear_type apricot_proposal = CD_LINEAR_TYPE(cd_p_block_body, apricot_proposal_fields);
static const cd_linear_type apricot_option = CD_LINEAR_TYPE(cd_p_block_body, apricot_option_fields);
static const cd_linear_type apricot_standard = CD_LINEAR_TYPE(cd_p_block_body, apricot_standard_fields);
static const cd_linear_type banff_proposal = CD_LINEAR_TYPE(cd_p_block_body, banff_proposal_fields);
static const cd_linear_type banff_option = CD_LINEAR_TYPE(cd_p_block_body, banff_option_fields);
static const cd_linear_type banff_standard = CD_LINEAR_TYPE(cd_p_block_body, banff_standard_fields);

static const cd_linear_case block_cases[] = {
    {CD_P_APRICOT_PROPOSAL, &apricot_proposal}, {CD_P_APRICOT_ABORT, &apricot_option},
    {CD_P_APRICOT_COMMIT, &apricot_option},     {CD_P_APRICOT_STANDARD, &apricot_standard},
    {CD_P_APRICOT_ATOMIC, &apricot_proposal},   {CD_P_BANFF_PROPOSAL, &banff_proposal},
    {CD_P_BANFF_ABORT, &banff_option},          {CD_P_BANFF_COMMIT, &banff_option},
    {CD_P_BANFF_STANDARD, &banff_standard},
};
static const cd_linear_union blocks = CD_LINEAR_UNION(block_cases);
static const cd_linear_field block_fields[] = {CD_LINEAR_FIELD(UNION, cd_p_block, body, "block", .any = &blocks)};
const cd_linear_type cd_p_block_table = CD_LINEAR_TYPE(cd_p_block, block_fields);

/* --- handling --- */

cd_p_block_type cd_p_block_kind(const cd_p_block *b)
{
    return (cd_p_block_type)b->body.is->id;
}

cd_p_block_body *cd_p_block_body_of(const cd_p_block *b)
{
    return b->body.v;
}

cd_p_block cd_p_block_of(cd_p_block_type type, cd_p_block_body *body)
{
    const cd_linear_case *is = NULL;
    for (usize i = 0; i < CD_COUNT(block_cases); i++) {
        is = block_cases[i].id == (u32)type ? &block_cases[i] : is;
    }
    CD_ASSERT(is != NULL);
    return (cd_p_block){.body = {.is = is, .v = body}};
}

/* --- JSON --- */

static void put_id(cd_json_w *w, const char *key, const cd_hash32 *id)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    cd_json_put_str(w, key, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

static void put_tx(cd_json_w *w, const cd_linear_place *place, const cd_p_tx *tx)
{
    cd_hash32 id;
    cd_p_tx_id(&id, tx);
    cd_p_tx_json(w, place, tx, &id);
}

/* Writes one field of a block; the block's ID follows the height, wherever that stands. */
static void put_field(cd_json_w *w, const cd_linear_place *place, const cd_linear_field *f, const cd_p_block_body *b,
                      const cd_hash32 *id)
{
    cd_json_w_key(w, f->json);
    if (f->kind == CD_LINEAR_LIST) {
        cd_json_w_arr(w);
        for (u32 i = 0; i < b->txs.cnt; i++) {
            put_tx(w, place, &((const cd_p_tx *)b->txs.v)[i]);
        }
        cd_json_w_arr_end(w);
    } else if (f->kind == CD_LINEAR_STRUCT) {
        put_tx(w, place, &b->tx);
    } else if (f->kind == CD_LINEAR_FIXED) {
        cd_buf text = {0};
        cd_id_put(&text, &b->parent);
        cd_json_w_str(w, cd_buf_bytes(&text));
        cd_buf_fini(&text);
    } else if (f->offset == offsetof(cd_p_block_body, time)) {
        cd_json_w_u64(w, b->time);
    } else {
        cd_json_w_u64(w, b->height);
        put_id(w, "id", id);
    }
}

void cd_p_block_json(cd_json_w *w, const cd_linear_place *place, const cd_p_block *b, const cd_hash32 *id)
{
    const cd_linear_type *t = b->body.is->type;
    cd_json_w_obj(w);
    for (u32 i = 0; i < t->cnt; i++) {
        put_field(w, place, &t->fields[i], cd_p_block_body_of(b), id);
    }
    cd_json_w_obj_end(w);
}
