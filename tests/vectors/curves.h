/* tests/vectors/curves.h - reading the vectors of crypto/: hex fields and Wycheproof's groups.
 *
 * Test code: included by one file each. */
#ifndef CD_TESTS_VECTORS_CURVES_H
#define CD_TESTS_VECTORS_CURVES_H

#include "tests/vectors/vec.h"

__attribute__((unused)) static cd_bytes hex(vec *v, cd_json j)
{
    cd_bytes b = {0};
    cd_errinfo why = {0};
    if (cd_json_hex(&b, &v->arena, j, &why) != CD_OK) {
        vec_check(v, false, "data: %s", why.msg);
    }
    return b;
}

__attribute__((unused)) static cd_bytes hex_of(vec *v, cd_json j, const char *key)
{
    return hex(v, cd_json_get(j, key));
}

__attribute__((unused)) static const char *text_of(vec *v, cd_json j, const char *key)
{
    cd_bytes b;
    return cd_json_str(&b, cd_json_get(j, key), NULL) == CD_OK ? cd_arena_str(&v->arena, b) : "";
}

__attribute__((unused)) static bool is_str(vec *v, cd_json j, const char *key, const char *want)
{
    return strcmp(text_of(v, j, key), want) == 0;
}

__attribute__((unused)) static bool is_true(cd_json j)
{
    bool b = false;
    return cd_json_bool(&b, j, NULL) == CD_OK && b;
}

/* b cut or filled up with zeros to n bytes, as the EVM does with input of the older precompiles. */
__attribute__((unused)) static const u8 *padded(vec *v, cd_bytes b, usize n)
{
    u8 *p = cd_arena_zalloc(&v->arena, n);
    if (b.n != 0) {
        memcpy(p, b.p, b.n < n ? b.n : n);
    }
    return p;
}

/* Calls run for every test of every group of a Wycheproof file. */
typedef void wycheproof_fn(vec *v, cd_json group, cd_json test, const char *label);

__attribute__((unused)) static void wycheproof(vec *v, const char *file, wycheproof_fn *run)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, cd_arena_fmt(&v->arena, "crypto/wycheproof/%s", file)))) {
        return;
    }
    cd_json_it groups = cd_json_iter(cd_json_get(doc, "testGroups"));
    while (cd_json_next(&groups)) {
        cd_json_it tests = cd_json_iter(cd_json_get(groups.val, "tests"));
        while (cd_json_next(&tests)) {
            u64 id = 0;
            (void)!cd_json_u64(&id, cd_json_get(tests.val, "tcId"), NULL);
            const char *label =
                cd_arena_fmt(&v->arena, "%s %u: %s", file, (unsigned)id, text_of(v, tests.val, "comment"));
            run(v, groups.val, tests.val, label);
        }
    }
}

/* accepted must agree with the test's result; "acceptable" may go either way. */
__attribute__((unused)) static void check_result(vec *v, cd_json test, bool accepted, const char *label)
{
    bool fits = is_str(v, test, "result", "acceptable") || accepted == is_str(v, test, "result", "valid");
    vec_check(v, fits, "%s: %s", label, accepted ? "accepted" : "refused");
}

#endif
