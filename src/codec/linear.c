#include "codec/linear.h"

#include "base/rd.h"
#include "codec/base58.h"
#include "codec/base64.h"
#include "codec/ids.h"

#include <string.h>

enum { VERSION = 0, VERSION_LEN = 2, COUNT_MAX = INT32_MAX };

static usize width_of(cd_linear_kind k)
{
    switch (k) {
    case CD_LINEAR_U8:
    case CD_LINEAR_BOOL:
        return 1;
    case CD_LINEAR_U16:
        return 2;
    case CD_LINEAR_U32:
        return 4;
    case CD_LINEAR_U64:
        return 8;
    case CD_LINEAR_FIXED:
    case CD_LINEAR_BYTES:
    case CD_LINEAR_STRING:
    case CD_LINEAR_STRUCT:
    case CD_LINEAR_LIST:
    case CD_LINEAR_UNION:
        break;
    }
    return 0;
}

usize cd_linear_elem_size(const cd_linear_field *elem)
{
    switch (elem->kind) {
    case CD_LINEAR_FIXED:
        return elem->len;
    case CD_LINEAR_BYTES:
    case CD_LINEAR_STRING:
        return sizeof(cd_bytes);
    case CD_LINEAR_STRUCT:
        return elem->of->size;
    case CD_LINEAR_LIST:
        return sizeof(cd_linear_list);
    case CD_LINEAR_UNION:
        return sizeof(cd_linear_any);
    case CD_LINEAR_U8:
    case CD_LINEAR_U16:
    case CD_LINEAR_U32:
    case CD_LINEAR_U64:
    case CD_LINEAR_BOOL:
        break;
    }
    return width_of(elem->kind);
}

/* Gives the fewest bytes that a field can have in a document. Tables are our own and not cyclic, so this ends. */
static usize least_of(const cd_linear_field *f)
{
    usize sum = 0;
    switch (f->kind) {
    case CD_LINEAR_FIXED:
        return f->len;
    case CD_LINEAR_STRING:
        return 2;
    case CD_LINEAR_BYTES:
    case CD_LINEAR_LIST:
    case CD_LINEAR_UNION:
        return 4;
    case CD_LINEAR_STRUCT:
        for (u32 i = 0; i < f->of->cnt; i++) {
            sum += least_of(&f->of->fields[i]);
        }
        return sum;
    case CD_LINEAR_U8:
    case CD_LINEAR_U16:
    case CD_LINEAR_U32:
    case CD_LINEAR_U64:
    case CD_LINEAR_BOOL:
        break;
    }
    return width_of(f->kind);
}

/* --- reading --- */

typedef struct reader {
    cd_rd rd;
    cd_arena *arena;
    cd_errinfo *why;
    u32 depth;
} reader;

static cd_err read_struct(reader *r, void *out, const cd_linear_type *t);

static cd_err refuse_short(reader *r)
{
    return cd_fail(r->why, CD_ESHORT, "packer has insufficient length for input");
}

static cd_err read_number(reader *r, u8 *out, cd_linear_kind k)
{
    usize n = width_of(k);
    u8 b[8] = {0};
    cd_rd_copy(&r->rd, b, n);
    if (r->rd.err != CD_OK) {
        return refuse_short(r);
    }
    if (k == CD_LINEAR_BOOL && b[0] > 1) {
        return cd_fail(r->why, CD_EFORMAT, "unexpected value when unpacking bool");
    }
    for (usize i = 0; i < n; i++) {
        out[n - 1 - i] = b[i]; /* this machine is little-endian */
    }
    return CD_OK;
}

static cd_err read_bytes(reader *r, cd_bytes *out, const cd_linear_field *f)
{
    u32 n = f->kind == CD_LINEAR_STRING ? cd_rd_be16(&r->rd) : cd_rd_be32(&r->rd);
    if (r->rd.err != CD_OK || n > cd_rd_left(&r->rd)) {
        return refuse_short(r);
    }
    if (f->len != 0 && n > f->len) {
        return cd_fail(r->why, CD_ELIMIT, "byte array exceeds maximum length");
    }
    *out = n == 0 ? (cd_bytes){0} : cd_rd_take(&r->rd, n);
    return CD_OK;
}

static cd_err read_field(reader *r, void *out, const cd_linear_field *f);

static cd_err read_list(reader *r, cd_linear_list *out, const cd_linear_field *f)
{
    usize size = cd_linear_elem_size(f->elem);
    usize least = least_of(f->elem);
    u32 cnt = cd_rd_be32(&r->rd);
    CD_ASSERT(least != 0); /* elements of no bytes would let a short input claim any count */
    if (r->rd.err != CD_OK) {
        return refuse_short(r);
    }
    if (cnt > COUNT_MAX || (f->len != 0 && cnt > f->len)) {
        return cd_fail(r->why, CD_ELIMIT, "max slice length exceeded");
    }
    if (cnt > cd_rd_left(&r->rd) / least) {
        return refuse_short(r);
    }
    u8 *v = cnt == 0 ? NULL : cd_arena_zalloc_array(r->arena, cnt, size);
    for (u32 i = 0; i < cnt; i++) {
        CD_TRY(read_field(r, v + i * size, f->elem));
    }
    *out = (cd_linear_list){.v = v, .cnt = cnt};
    return CD_OK;
}

static cd_err read_union(reader *r, cd_linear_any *out, const cd_linear_union *any)
{
    u32 id = cd_rd_be32(&r->rd);
    if (r->rd.err != CD_OK) {
        return refuse_short(r);
    }
    for (u32 i = 0; i < any->cnt; i++) {
        if (any->cases[i].id == id) {
            if (r->depth == CD_LINEAR_DEPTH_MAX) {
                return cd_fail(r->why, CD_EDEPTH, "values are nested too deeply");
            }
            out->is = &any->cases[i];
            out->v = cd_arena_zalloc(r->arena, out->is->type->size);
            r->depth++;
            CD_TRY(read_struct(r, out->v, out->is->type));
            r->depth--;
            return CD_OK;
        }
    }
    return cd_fail(r->why, CD_ETYPE, "couldn't unmarshal interface: unknown type ID %u", id);
}

static cd_err read_field(reader *r, void *out, const cd_linear_field *f)
{
    switch (f->kind) {
    case CD_LINEAR_U8:
    case CD_LINEAR_U16:
    case CD_LINEAR_U32:
    case CD_LINEAR_U64:
    case CD_LINEAR_BOOL:
        return read_number(r, out, f->kind);
    case CD_LINEAR_FIXED:
        cd_rd_copy(&r->rd, out, f->len);
        return r->rd.err == CD_OK ? CD_OK : refuse_short(r);
    case CD_LINEAR_BYTES:
    case CD_LINEAR_STRING:
        return read_bytes(r, out, f);
    case CD_LINEAR_STRUCT:
        return read_struct(r, out, f->of);
    case CD_LINEAR_LIST:
        return read_list(r, out, f);
    case CD_LINEAR_UNION:
        return read_union(r, out, f->any);
    }
    CD_UNREACHABLE();
}

static cd_err read_struct(reader *r, void *out, const cd_linear_type *t)
{
    for (u32 i = 0; i < t->cnt; i++) {
        CD_TRY(read_field(r, (u8 *)out + t->fields[i].offset, &t->fields[i]));
    }
    return CD_OK;
}

cd_err cd_linear_parse(void *out, const cd_linear_type *t, cd_arena *a, cd_bytes text, usize max, cd_errinfo *why)
{
    reader r = {.rd = cd_rd_init(text), .arena = a, .why = why};
    if (text.n > (max == 0 ? CD_LINEAR_SIZE_MAX : max)) {
        return cd_fail(why, CD_ELIMIT, "byte array exceeds maximum length");
    }
    u16 version = cd_rd_be16(&r.rd);
    if (r.rd.err != CD_OK) {
        return cd_fail(why, CD_ESHORT, "couldn't unpack codec version");
    }
    if (version != VERSION) {
        return cd_fail(why, CD_EVERSION, "unknown codec version");
    }
    CD_TRY(read_struct(&r, out, t));
    return cd_rd_end(&r.rd) == CD_OK ? CD_OK : cd_fail(why, CD_ETRAIL, "trailing buffer space");
}

/* --- writing --- */

static void put_struct(cd_buf *out, const cd_linear_type *t, const void *v);

static void put_be(cd_buf *out, u64 v, usize n)
{
    u8 b[8];
    cd_put_be64(b, v);
    cd_buf_put(out, cd_bytes_of(b + 8 - n, n));
}

/* Gives the number in a member of n bytes. */
static u64 number_at(const void *p, usize n)
{
    u64 v = 0;
    memcpy(&v, p, n);
    return v;
}

static void put_field(cd_buf *out, const cd_linear_field *f, const void *v)
{
    const cd_bytes *bytes = v;
    const cd_linear_list *list = v;
    const cd_linear_any *any = v;
    switch (f->kind) {
    case CD_LINEAR_U8:
    case CD_LINEAR_U16:
    case CD_LINEAR_U32:
    case CD_LINEAR_U64:
    case CD_LINEAR_BOOL:
        put_be(out, number_at(v, width_of(f->kind)), width_of(f->kind));
        return;
    case CD_LINEAR_FIXED:
        cd_buf_put(out, cd_bytes_of(v, f->len));
        return;
    case CD_LINEAR_BYTES:
    case CD_LINEAR_STRING:
        CD_ASSERT(bytes->n <= (f->kind == CD_LINEAR_STRING ? UINT16_MAX : COUNT_MAX));
        put_be(out, bytes->n, f->kind == CD_LINEAR_STRING ? 2 : 4);
        cd_buf_put(out, *bytes);
        return;
    case CD_LINEAR_STRUCT:
        put_struct(out, f->of, v);
        return;
    case CD_LINEAR_LIST:
        CD_ASSERT(list->cnt <= COUNT_MAX);
        put_be(out, list->cnt, 4);
        for (u32 i = 0; i < list->cnt; i++) {
            put_field(out, f->elem, (const u8 *)list->v + i * cd_linear_elem_size(f->elem));
        }
        return;
    case CD_LINEAR_UNION:
        CD_ASSERT(any->is != NULL);
        put_be(out, any->is->id, 4);
        put_struct(out, any->is->type, any->v);
        return;
    }
    CD_UNREACHABLE();
}

static void put_struct(cd_buf *out, const cd_linear_type *t, const void *v)
{
    for (u32 i = 0; i < t->cnt; i++) {
        put_field(out, &t->fields[i], (const u8 *)v + t->fields[i].offset);
    }
}

void cd_linear_put(cd_buf *out, const cd_linear_type *t, const void *v)
{
    put_be(out, VERSION, VERSION_LEN);
    put_struct(out, t, v);
}

static usize size_of_struct(const cd_linear_type *t, const void *v);

static usize size_of_field(const cd_linear_field *f, const void *v)
{
    const cd_linear_list *list = v;
    const cd_linear_any *any = v;
    usize sum = least_of(f);
    switch (f->kind) {
    case CD_LINEAR_BYTES:
    case CD_LINEAR_STRING:
        return sum + ((const cd_bytes *)v)->n;
    case CD_LINEAR_STRUCT:
        return size_of_struct(f->of, v);
    case CD_LINEAR_LIST:
        for (u32 i = 0; i < list->cnt; i++) {
            sum += size_of_field(f->elem, (const u8 *)list->v + i * cd_linear_elem_size(f->elem));
        }
        return sum;
    case CD_LINEAR_UNION:
        return sum + size_of_struct(any->is->type, any->v);
    case CD_LINEAR_U8:
    case CD_LINEAR_U16:
    case CD_LINEAR_U32:
    case CD_LINEAR_U64:
    case CD_LINEAR_BOOL:
    case CD_LINEAR_FIXED:
        break;
    }
    return sum;
}

static usize size_of_struct(const cd_linear_type *t, const void *v)
{
    usize sum = 0;
    for (u32 i = 0; i < t->cnt; i++) {
        sum += size_of_field(&t->fields[i], (const u8 *)v + t->fields[i].offset);
    }
    return sum;
}

usize cd_linear_size(const cd_linear_type *t, const void *v)
{
    return VERSION_LEN + size_of_struct(t, v);
}

/* --- JSON --- */

/* Writes a fixed byte string, or one of any length, in the form of its field. */
static void json_bytes(cd_json_w *w, const cd_linear_place *place, cd_linear_form form, cd_bytes b)
{
    cd_buf text = {0};
    cd_hash32 id;
    cd_node_id node;
    cd_addr20 addr;
    switch (form) {
    case CD_LINEAR_ID:
        CD_ASSERT(b.n == sizeof id.b);
        memcpy(id.b, b.p, sizeof id.b);
        cd_id_put(&text, &id);
        break;
    case CD_LINEAR_NODE:
        CD_ASSERT(b.n == sizeof node.b);
        memcpy(node.b, b.p, sizeof node.b);
        cd_node_id_put(&text, &node);
        break;
    case CD_LINEAR_ADDRESS:
        CD_ASSERT(b.n == sizeof addr.b);
        memcpy(addr.b, b.p, sizeof addr.b);
        cd_chain_addr_put(&text, place->chain, place->prefix, &addr);
        break;
    case CD_LINEAR_SHORT:
        CD_ASSERT(b.n == sizeof addr.b);
        cd_cb58_put(&text, b);
        break;
    case CD_LINEAR_BASE64:
        cd_base64_enc(&text, b);
        break;
    case CD_LINEAR_NUMBERS:
        cd_json_w_arr(w);
        for (usize i = 0; i < b.n; i++) {
            cd_json_w_u64(w, b.p[i]);
        }
        cd_json_w_arr_end(w);
        return;
    case CD_LINEAR_PLAIN:
    case CD_LINEAR_INLINE:
        cd_json_w_hex(w, b);
        return;
    }
    cd_json_w_str(w, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

static void json_value(cd_json_w *w, const cd_linear_place *place, const cd_linear_field *f, const void *v)
{
    const cd_linear_list *list = v;
    const cd_linear_any *any = v;
    switch (f->kind) {
    case CD_LINEAR_U8:
    case CD_LINEAR_U16:
    case CD_LINEAR_U32:
    case CD_LINEAR_U64:
        cd_json_w_u64(w, number_at(v, width_of(f->kind)));
        return;
    case CD_LINEAR_BOOL:
        cd_json_w_bool(w, number_at(v, 1) != 0);
        return;
    case CD_LINEAR_FIXED:
        json_bytes(w, place, f->form, cd_bytes_of(v, f->len));
        return;
    case CD_LINEAR_BYTES:
        json_bytes(w, place, f->form, *(const cd_bytes *)v);
        return;
    case CD_LINEAR_STRING:
        cd_json_w_str(w, *(const cd_bytes *)v);
        return;
    case CD_LINEAR_STRUCT:
        cd_linear_json(w, place, f->of, v);
        return;
    case CD_LINEAR_LIST:
        cd_json_w_arr(w);
        for (u32 i = 0; i < list->cnt; i++) {
            json_value(w, place, f->elem, (const u8 *)list->v + i * cd_linear_elem_size(f->elem));
        }
        cd_json_w_arr_end(w);
        return;
    case CD_LINEAR_UNION:
        cd_linear_json(w, place, any->is->type, any->v);
        return;
    }
    CD_UNREACHABLE();
}

static void json_fx(cd_json_w *w, const cd_linear_field *f, const cd_hash32 *id)
{
    if (f->fx_json != NULL && id != NULL) {
        cd_json_w_key(w, f->fx_json);
        json_bytes(w, NULL, CD_LINEAR_ID, cd_bytes_of(id->b, sizeof id->b));
    }
}

void cd_linear_json_members(cd_json_w *w, const cd_linear_place *place, const cd_linear_type *t, const void *v)
{
    for (u32 i = 0; i < t->cnt; i++) {
        const cd_linear_field *f = &t->fields[t->json_order == NULL ? i : t->json_order[i]];
        const u8 *at = (const u8 *)v + f->offset;
        if (f->json == NULL) {
            continue;
        }
        if (f->kind == CD_LINEAR_STRUCT && f->form == CD_LINEAR_INLINE) {
            cd_linear_json_members(w, place, f->of, at);
            continue;
        }
        if (f->kind == CD_LINEAR_UNION) {
            json_fx(w, f, ((const cd_linear_any *)(const void *)at)->is->type->fx_id);
        }
        cd_json_w_key(w, f->json);
        json_value(w, place, f, at);
        if (f->fx_ids != NULL) {
            u64 fx = number_at(at, sizeof(u32));
            json_fx(w, f, fx < f->len ? &f->fx_ids[fx] : NULL);
        }
    }
}

void cd_linear_json(cd_json_w *w, const cd_linear_place *place, const cd_linear_type *t, const void *v)
{
    cd_json_w_obj(w);
    cd_linear_json_members(w, place, t, v);
    cd_json_w_obj_end(w);
}
