#include "node/api/tokens.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define PASSWORD "correct horse"

/* A node's tokens and its clock. */
typedef struct rig {
    cd_clock_virtual clock;
    cd_tokens *t;
    cd_buf token; /* the token, as a header */
} rig;

static int begin(void **state)
{
    rig *r = calloc(1, sizeof *r);
    cd_clock_virtual_init(&r->clock, 1700000000 * CD_NS_PER_SEC);
    *state = r;
    return cd_tokens_new(&r->t, cd_bytes_str(PASSWORD), &r->clock.clock, NULL) != CD_OK;
}

static int end(void **state)
{
    rig *r = *state;
    cd_tokens_free(r->t);
    cd_buf_fini(&r->token);
    free(r);
    return 0;
}

static void take_token(rig *r, const char *endpoint)
{
    const cd_bytes e = cd_bytes_str(endpoint);
    cd_buf_clear(&r->token);
    cd_buf_str(&r->token, "Bearer ");
    assert_int_equal(cd_tokens_make(r->t, &r->token, cd_bytes_str(PASSWORD), &e, 1, NULL), CD_OK);
}

static void admitted(rig *r, const char *path)
{
    assert_int_equal(cd_tokens_admit(r->t, cd_buf_bytes(&r->token), cd_bytes_str(path), NULL), CD_OK);
}

static void refused(rig *r, cd_bytes header, const char *path, const char *says)
{
    cd_errinfo why = {0};
    assert_int_equal(cd_tokens_admit(r->t, header, cd_bytes_str(path), &why), CD_EACCES);
    if (strstr(why.msg, says) == NULL) {
        fail_msg("%s without %s", why.msg, says);
    }
}

static void endpoints(void **state)
{
    rig *r = *state;
    take_token(r, "/v1/info");
    admitted(r, "/v1/info");
    admitted(r, "/v1/auth");
    refused(r, cd_buf_bytes(&r->token), "/v1/bc/P", "does not allow access to this endpoint");
    refused(r, cd_buf_bytes(&r->token), "/v1/info/x", "does not allow access to this endpoint");
    take_token(r, "*");
    admitted(r, "/v1/bc/P");
    take_token(r, "");
    refused(r, cd_buf_bytes(&r->token), "/v1/info", "does not allow access to this endpoint");
}

static void bad_headers(void **state)
{
    rig *r = *state;
    take_token(r, "*");
    refused(r, (cd_bytes){0}, "/v1/info", "auth token not provided");
    refused(r, cd_bytes_str("Basic abc"), "/v1/info", "should be \"Bearer TOKEN.GOES.HERE\"");
    refused(r, cd_bytes_str("Bearer "), "/v1/info", "should be \"Bearer TOKEN.GOES.HERE\"");
    refused(r, cd_bytes_str("Bearer x"), "/v1/info", "no token of this node");
    refused(r, cd_bytes_str("Bearer eyJhbGciOiJub25lIn0.e30."), "/v1/info", "no token of this node");
    /* A token with any byte changed is refused. */
    for (usize i = sizeof "Bearer " - 1; i < r->token.n; i++) {
        cd_errinfo why = {0};
        r->token.p[i] ^= 1;
        assert_int_equal(cd_tokens_admit(r->t, cd_buf_bytes(&r->token), cd_bytes_str("/v1/info"), &why), CD_EACCES);
        r->token.p[i] ^= 1;
    }
    admitted(r, "/v1/info");
    cd_clock_virtual_advance(&r->clock, 12ull * 3600 * CD_NS_PER_SEC);
    refused(r, cd_buf_bytes(&r->token), "/v1/info", "token is expired");
}

static void revoked_and_changed(void **state)
{
    rig *r = *state;
    cd_errinfo why = {0};
    take_token(r, "*");
    cd_bytes bare = cd_bytes_sub(cd_buf_bytes(&r->token), 7, r->token.n - 7);
    assert_int_equal(cd_tokens_revoke(r->t, cd_bytes_str("wrong"), bare, &why), CD_EACCES);
    assert_string_equal(why.msg, "incorrect password");
    admitted(r, "/v1/info");
    assert_int_equal(cd_tokens_revoke(r->t, cd_bytes_str(PASSWORD), bare, NULL), CD_OK);
    refused(r, cd_buf_bytes(&r->token), "/v1/info", "was revoked");
    take_token(r, "*");
    assert_int_equal(cd_tokens_change(r->t, cd_bytes_str(PASSWORD), cd_bytes_str(PASSWORD), &why), CD_EINVAL);
    assert_string_equal(why.msg, "new password can't be same as old password");
    assert_int_equal(cd_tokens_change(r->t, cd_bytes_str(PASSWORD), cd_bytes_str("short"), &why), CD_EINVAL);
    assert_string_equal(why.msg, "password is too weak");
    assert_int_equal(cd_tokens_change(r->t, cd_bytes_str("wrong"), cd_bytes_str("battery staple"), &why), CD_EACCES);
    admitted(r, "/v1/info");
    assert_int_equal(cd_tokens_change(r->t, cd_bytes_str(PASSWORD), cd_bytes_str("battery staple"), NULL), CD_OK);
    refused(r, cd_buf_bytes(&r->token), "/v1/info", "signature is invalid");
}

/* A client that guesses passwords, and one that revokes tokens without end. */
static void bounded(void **state)
{
    rig *r = *state;
    cd_errinfo why = {0};
    const cd_bytes all = cd_bytes_str("*");
    cd_bytes many[CD_TOKENS_ENDPOINTS_MAX + 1];
    for (usize i = 0; i < CD_COUNT(many); i++) {
        many[i] = all;
    }
    cd_buf out = {0};
    assert_int_equal(cd_tokens_make(r->t, &out, cd_bytes_str(PASSWORD), NULL, 0, &why), CD_EINVAL);
    assert_string_equal(why.msg, "must name at least one endpoint");
    assert_int_equal(cd_tokens_make(r->t, &out, cd_bytes_str(PASSWORD), many, CD_COUNT(many), &why), CD_EINVAL);
    assert_string_equal(why.msg, "can only name at most 128 endpoints");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(cd_tokens_make(r->t, &out, cd_bytes_str("guess"), &all, 1, &why), CD_EACCES);
    }
    assert_int_equal(cd_tokens_make(r->t, &out, cd_bytes_str(PASSWORD), &all, 1, &why), CD_ELIMIT);
    cd_clock_virtual_advance(&r->clock, CD_NS_PER_SEC);
    for (usize i = 0; i <= CD_TOKENS_REVOKED_MAX; i++) {
        take_token(r, "*");
        cd_bytes bare = cd_bytes_sub(cd_buf_bytes(&r->token), 7, r->token.n - 7);
        cd_err e = cd_tokens_revoke(r->t, cd_bytes_str(PASSWORD), bare, NULL);
        assert_int_equal(e, i == CD_TOKENS_REVOKED_MAX ? CD_ELIMIT : CD_OK);
    }
    cd_clock_virtual_advance(&r->clock, 12ull * 3600 * CD_NS_PER_SEC); /* their time is over: there is room again */
    take_token(r, "*");
    cd_bytes bare = cd_bytes_sub(cd_buf_bytes(&r->token), 7, r->token.n - 7);
    assert_int_equal(cd_tokens_revoke(r->t, cd_bytes_str(PASSWORD), bare, NULL), CD_OK);
    cd_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(endpoints, begin, end),
        cmocka_unit_test_setup_teardown(bad_headers, begin, end),
        cmocka_unit_test_setup_teardown(revoked_and_changed, begin, end),
        cmocka_unit_test_setup_teardown(bounded, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
