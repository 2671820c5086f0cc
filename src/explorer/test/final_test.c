/* Lamps: every height shows how far it is final, as the node says at that moment. */
#include "explorer/test/rig.h"

#include <stdio.h>

/* The lamp in front of a height in a page's first table, or in its heading. */
static void expect_lamp(const char *html, const char *before, const char *looks)
{
    char want[160];
    (void)snprintf(want, sizeof want, "<span class=\"%s\" role=\"img\"", looks);
    const char *at = strstr(html, before);
    if (at == NULL) {
        fail_msg("no \"%s\" in: %s", before, html);
    }
    const char *lamp = NULL;
    for (const char *next = html; (next = strstr(next, "<span class=\"lamp")) != NULL && next < at; next++) {
        lamp = strncmp(next, "<span class=\"lampline", 21) == 0 ? lamp : next;
    }
    if (lamp == NULL || strncmp(lamp, want, strlen(want)) != 0) {
        fail_msg("not \"%s\" before %s but %.60s", looks, before, lamp == NULL ? "nothing" : lamp);
    }
}

static void mine(u32 cnt)
{
    for (u32 i = 0; i < cnt; i++) {
        (void)rpc_node_get(&g.node, "evm_mine", "[]");
    }
}

static void nobody_says(void **state)
{
    (void)state;
    mine(5);
    rig_final = (cd_ui_final){.is_told = false, .bls = 5, .quantum = 5};
    expect_lamp(rig_html("/block/C/2", "200"), "Block 2</h1>", "lamp");
    const char *page = rig_plain(rig_html("/block/C/2", "200"));
    assert_null(strstr(page, "Finality"));
    page = rig_get("");
    assert_null(strstr(page, "BLS-final"));
}

static void as_the_node_says(void **state)
{
    (void)state;
    rig_final = (cd_ui_final){.is_told = true, .is_stamped = true, .bls = 3, .quantum = 2};
    const char *html = rig_html("/blocks", "200");
    expect_lamp(html, "/block/C/4\">4</a>", "lamp");
    expect_lamp(html, "/block/C/3\">3</a>", "lamp half");
    expect_lamp(html, "/block/C/2\">2</a>", "lamp full");
    expect_lamp(html, "/block/C/0\">0</a>", "lamp full");
    static const struct {
        const char *path;
        const char *heading;
        const char *looks;
        const char *says;
    } rows[] = {
        {"/block/C/4", "Block 4</h1>", "lamp", "Finality Accepted two thirds of the stake have not signed it yet"},
        {"/block/C/3", "Block 3</h1>", "lamp half", "Finality BLS-final two thirds of the stake signed it"},
        {"/block/C/2", "Block 2</h1>", "lamp full",
         "Finality Quantum-final two thirds of the stake signed it, by BLS and by ML-DSA"},
        {"/block/C/1", "Block 1</h1>", "lamp full", "candela-cli finality verify C/1 --checkpoint=FILE"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        expect_lamp(rig_html(rows[i].path, "200"), rows[i].heading, rows[i].looks);
        rig_says(rig_get(rows[i].path), rows[i].says);
    }
    const char *home = rig_get("");
    rig_says(home, "BLS-final 3");
    rig_says(home, "Quantum-final 2");
    rig_final.quantum = 4; /* the next page shows it */
    expect_lamp(rig_html("/block/C/4", "200"), "Block 4</h1>", "lamp full");
}

/* Signatures that arrive, certificates, who is missing in them; nothing that a report may lack or hold breaks it. */
static void finality_page(void **state)
{
    (void)state;
    rig_report = NULL;
    rig_says(rig_get("/finality"), "Blocks are not made final here");
    rig_final = (cd_ui_final){.is_told = true, .is_stamped = true, .bls = 4, .quantum = 3};
    rig_report =
        "{\"epoch\":2,\"validators\":5,\"keyed\":4,\"hasGroup\":true,\"isSetSigned\":true,\"now\":["
        "{\"height\":5,\"signed\":false,\"final\":false,\"parties\":0,\"shares\":3,\"stamps\":0,\"missing\":"
        "[\"NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg\",\"<b>\"]},"
        "{\"height\":4,\"signed\":true,\"final\":false,\"parties\":5,\"commits\":5,\"answers\":2,\"shares\":5,"
        "\"missing\":[]},"
        "{\"height\":3,\"signed\":true,\"final\":true,\"parties\":0,\"stamps\":4,\"shares\":5,\"missing\":[]}],"
        "\"recent\":[{\"height\":4,\"type\":0,\"time\":1,\"total\":500,\"signedBy\":400,\"missing\":[\"NodeID-x\"]},"
        "{\"height\":3,\"type\":3,\"time\":1,\"total\":500,\"signedBy\":500,\"stamps\":4,\"missing\":[]},"
        "{\"height\":2,\"type\":2,\"time\":1,\"total\":500,\"signedBy\":500,\"parties\":4}]}";
    const char *html = rig_html("/finality", "200");
    assert_non_null(strstr(html, "/live?at="));
    assert_non_null(strstr(html, "&amp;finality=1#finality\""));
    assert_null(strstr(html, "<b>"));
    const char *page = rig_get("/finality");
    rig_says(page, "Epoch 2 signed by the set before");
    rig_says(page, "1 without an ML-DSA key");
    rig_says(page, "3 of 5");
    rig_says(page, "behind BLS");
    rig_says(page, "2 of 5 answers");
    rig_says(page, "4 of 5 ML-DSA");
    rig_says(page, "BLS and threshold type 2, 4 parties");
    rig_says(page, "BLS and ML-DSA type 3, 4 signatures");
    rig_says(page, "80.00");
    rig_says(page, "of an earlier set");
    rig_says(page, "finality verify C/3");
    assert_non_null(strstr(rig_html("", "200"), "href=\"/explorer/finality\">Quantum-final</a>"));
    assert_non_null(strstr(rig_html("/block/C/2", "200"), "href=\"/explorer/finality\">Finality</a>"));
    const char *const poor[] = {"{}", "[]", "nothing", "{\"now\":7,\"recent\":{}}", "{\"now\":[1,{}],\"recent\":[{}]}"};
    for (usize i = 0; i < CD_COUNT(poor); i++) {
        rig_report = poor[i];
        (void)rig_html("/finality", "200");
    }
    rig_report = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nobody_says), cmocka_unit_test(as_the_node_says),
                                       cmocka_unit_test(finality_page)};
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
