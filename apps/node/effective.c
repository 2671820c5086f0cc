#include "effective.h"

#include "base/mem/buf.h"
#include "codec/json.h"

/* Is it the name of a flag that gives the content of a file? */
static bool is_content(const char *name)
{
    static const char end[] = "-content";
    usize n = strlen(name);
    return n > sizeof end - 1 && strcmp(name + n - (sizeof end - 1), end) == 0;
}

static void put_list(cd_json_w *w, const cd_args *a, usize id)
{
    const char *const *v;
    usize n = cd_args_list(a, id, &v);
    cd_json_w_arr(w);
    for (usize i = 0; i < n; i++) {
        cd_json_w_cstr(w, v[i]);
    }
    cd_json_w_arr_end(w);
}

static void put_value(cd_json_w *w, const cd_args *a, cd_arena *mem, usize id)
{
    const cd_arg_def *def = &cd__options[id];
    switch (def->type) {
    case CD_ARG_BOOL:
        cd_json_w_bool(w, cd_args_bool(a, id));
        break;
    case CD_ARG_U64:
    case CD_ARG_DURATION:
    case CD_ARG_SIZE:
        cd_json_w_u64(w, cd_args_u64(a, id));
        break;
    case CD_ARG_I64:
        cd_json_w_i64(w, cd_args_i64(a, id));
        break;
    case CD_ARG_F64:
        cd_json_w_f64(w, cd_args_f64(a, id));
        break;
    case CD_ARG_STR:
        cd_json_w_cstr(w, is_content(def->name) && cd_args_str(a, id)[0] != '\0' ? "given" : cd_args_str(a, id));
        break;
    case CD_ARG_PATH:
        cd_json_w_cstr(w, cd_args_path(a, mem, id));
        break;
    case CD_ARG_LIST:
        put_list(w, a, id);
        break;
    }
}

cd_bytes cd__effective_config(const cd_args *a, cd_arena *mem)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    for (usize i = 0; i < OPT_SHOWN; i++) {
        cd_json_w_key(&w, cd__options[i].name);
        put_value(&w, a, mem, i);
    }
    cd_json_w_obj_end(&w);
    cd_bytes kept = cd_arena_dup(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return kept;
}
