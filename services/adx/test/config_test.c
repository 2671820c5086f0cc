#include "services/adx/exchange/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define FILES    "\"files\":[{\"url\":\"https://x/a.mp4\",\"type\":\"video/mp4\",\"w\":1,\"h\":1}]"
#define CREATIVE "{\"id\":\"cr\",\"universal_ad_id\":\"reg:val:2\",\"duration\":15," FILES "}"
#define CAMPAIGN(id, more)                                                                                             \
    "{\"id\":\"" id "\",\"advertiser\":\"a\",\"cpm\":\"2.5\",\"budget\":\"10.000001\"," more                           \
    "\"creatives\":[" CREATIVE "]}"

static void test_read(void **state)
{
    (void)state;
    cd_adx_config *c = NULL;
    cd_errinfo why = {0};
    const char *text = "{\"fx\":{\"EUR\":{\"USD\":\"1.25\"}},\"seller\":{\"asi\":\"x.example\"},"
                       "\"dsps\":[{\"id\":\"d\",\"url\":\"http://h/\",\"version\":\"2.5\",\"headers\":{\"A\":\"b\"}}],"
                       "\"campaigns\":[" CAMPAIGN("cheap", "\"daily_budget\":3,") "," CAMPAIGN(
                           "dear", "\"cur\":\"EUR\",\"start\":\"2026-01-01T00:00:00Z\",\"targeting\":{\"device\":["
                                   "\"ctv\"]},") "],"
                                                 "\"slots\":[{\"id\":\"b\",\"publisher\":\"p\"},{\"id\":\"a\","
                                                 "\"publisher\":\"q\",\"floor_cpm\":\"1.0000001\"}]}";
    if (cd_adx_config_parse(&c, cd_bytes_str(text), &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(c->dsps[0].version, CD_RTB_25);
    assert_string_equal(c->dsps[0].headers[0], "A: b");
    assert_int_equal(c->dsps[0].timeout_ms, 80);
    assert_string_equal(c->campaigns[0].id, "dear"); // who pays most stands first
    assert_int_equal(c->campaigns[0].usual, 3125000);
    assert_int_equal(c->campaigns[0].start_s, 1767225600);
    assert_int_equal(c->campaigns[0].devices.v[0], 3);
    assert_int_equal(c->campaigns[1].budget, 10000001000);
    assert_int_equal(c->campaigns[1].daily, 3000000000);
    const cd_adx_creative *cr = &c->campaigns[1].creatives[0];
    assert_true(cd_bytes_eq(cr->registry, cd_bytes_str("reg")) && cd_bytes_eq(cr->universal_id, cd_bytes_str("val:2")));
    const cd_adx_slot *s = cd_adx_config_slot(c, cd_bytes_str("a"));
    assert_non_null(s);
    assert_string_equal(s->publisher, "q");
    assert_int_equal(s->rules.floor, 1000001); // a floor is rounded up
    assert_null(cd_adx_config_slot(c, cd_bytes_str("c")));
    cd_adx_config_unref(cd_adx_config_ref(c));
    cd_adx_config_unref(c);
    assert_int_equal(cd_adx_config_parse(&c, (cd_bytes){0}, &why), CD_OK);
    cd_adx_config_unref(c);
}

/* What is wrong is named by its place. */
static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place;
    } rows[] = {
        {"[]", "not an object"},
        {"{\"dsps\":[{\"id\":\"d\",\"url\":\"ftp://h/\"}]}", "dsps[0].url"},
        {"{\"dsps\":[{\"url\":\"http://h/\"}]}", "dsps[0].id"},
        {"{\"dsps\":[{\"id\":\"d\",\"url\":\"http://h/\",\"version\":\"3.0\"}]}", "dsps[0].version"},
        {"{\"dsps\":[{\"id\":\"d\",\"url\":\"http://h/\",\"timeout_ms\":0}]}", "dsps[0].timeout_ms"},
        {"{\"dsps\":[{\"id\":\"d\",\"url\":\"http://h/\",\"headers\":{\"A\":\"b\\r\\nC: d\"}}]}", "headers"},
        {"{\"dsps\":[{\"id\":\"d\",\"url\":\"http://h/\"},{\"id\":\"d\",\"url\":\"http://h/\"}]}", "dsps[1].id"},
        {"{\"campaigns\":[" CAMPAIGN("has blank", "") "]}", "campaigns[0].id"},
        {"{\"campaigns\":[" CAMPAIGN("c", "\"cur\":\"JPY\",") "]}", "campaigns[0].cur"},
        {"{\"campaigns\":[" CAMPAIGN("c", "\"start\":\"yesterday\",") "]}", "campaigns[0].start"},
        {"{\"campaigns\":[" CAMPAIGN("c", "\"daily_budget\":\"-1\",") "]}", "campaigns[0].daily_budget"},
        {"{\"campaigns\":[" CAMPAIGN("c", "\"targeting\":{\"device\":[\"fridge\"]},") "]}", "targeting.device"},
        {"{\"campaigns\":[" CAMPAIGN("c", "") "," CAMPAIGN("c", "") "]}", "campaigns[1].id"},
        {"{\"campaigns\":[{\"id\":\"c\",\"advertiser\":\"a\",\"cpm\":\"0\"}]}", "campaigns[0].cpm"},
        {"{\"slots\":[{\"id\":\"s\"}]}", "slots[0].publisher"},
        {"{\"slots\":[{\"id\":\"s\",\"publisher\":\"p\"},{\"id\":\"s\",\"publisher\":\"p\"}]}", "slots"},
        {"{\"fx\":{\"EUR\":{\"USD\":\"0\"}}}", "fx.EUR.USD"},
        {"{\"fx\":{\"euro\":{\"USD\":\"1\"}}}", "fx.euro.USD"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_adx_config *c = NULL;
        cd_errinfo why = {0};
        assert_int_not_equal(cd_adx_config_parse(&c, cd_bytes_str(rows[i].text), &why), CD_OK);
        if (strstr(why.msg, rows[i].place) == NULL) {
            fail_msg("%s does not name %s", why.msg, rows[i].place);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
