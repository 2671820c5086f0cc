/* Bodies of management requests, for every interface: what is taken can be answered and read again, to the same. The
 * first byte chooses the interface. */
#include "services/webhook/api/face.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static const char *chain(void *ctx, cd_bytes name)
{
    (void)ctx;
    return name.n != 0 && name.p[0] == 'l' ? "lux" : NULL;
}

static void write_record(cd_buf *out, const cd_wh_face_api *face, const cd_wh_hook *hook, cd_arena *mem)
{
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    face->record(&w, hook, CD_WH_SHOW_SECRET | CD_WH_SHOW_UPDATED, mem);
    cd_json_w_obj_end(&w);
}

/* The record is JSON, and the filter in it means what was asked for. */
static void check_made(const cd_wh_face_api *face, cd_wh_read *r, const cd_wh_hook *hook)
{
    cd_buf first = {0};
    cd_buf second = {0};
    cd_json record;
    cd_wh_draft again = {0};
    cd_wh_hook own = *hook;
    own.name = own.name == NULL ? "" : own.name;
    own.network = own.network == NULL ? "" : own.network;
    write_record(&first, face, &own, r->mem);
    *r->rng = cd_rng_seeded(1); /* what is drawn is the same then */
    CD_ASSERT(cd_wh_read_body(r, &record, cd_buf_bytes(&first)) == CD_OK && face->create(r, &again, record) == CD_OK);
    again.hook.id = own.id;
    again.hook.secret = own.secret;
    again.hook.name = again.hook.name == NULL ? "" : again.hook.name;
    again.hook.network = again.hook.network == NULL ? "" : again.hook.network;
    write_record(&second, face, &again.hook, r->mem);
    CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&first), cd_buf_bytes(&second)) &&
              again.hook.filter.addresses.n == own.filter.addresses.n);
    cd_buf_fini(&first);
    cd_buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_arena mem = {0};
    cd_rng rng = cd_rng_seeded(1);
    cd_json body;
    if (size == 0) {
        return 0;
    }
    cd_wh_face face = (cd_wh_face)(data[0] % 3);
    const cd_wh_face_api *api = cd_wh_face_api_of(face);
    cd_wh_read r = {.mem = &mem, .rng = &rng, .chain = chain, .brand = "Svc", .face = face};
    cd_wh_draft d = {0};
    if (cd_wh_read_body(&r, &body, cd_bytes_of(data + 1, size - 1)) == CD_OK) {
        if (api->create(&r, &d, body) == CD_OK) {
            check_made(api, &r, &d.hook);
            cd_wh_draft change = {.hook = d.hook};
            (void)!api->patch(&r, &change, body);
        }
    }
    if (r.problem.status != 0) {
        cd_buf text = {0};
        cd_json parsed;
        cd_wh_error_body(&text, face, &r.problem);
        r.problem.status = 422;
        r.problem.kind = r.problem.kind == NULL ? "value_error" : r.problem.kind;
        cd_wh_error_body(&text, CD_WH_C, &r.problem);
        (void)!cd_json_parse(&parsed, &mem, cd_buf_bytes(&text), 0, NULL);
        cd_buf_fini(&text);
    }
    cd_arena_fini(&mem);
    return 0;
}
