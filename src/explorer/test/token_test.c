/* Tokens, honest and hostile, as the pages show them. */
#include "explorer/test/rig.h"

#define TOPIC                                                                                                          \
    "\xdd\xf2\x52\xad\x1b\xe2\xc8\x9b\x69\xc2\xb0\x68\xfc\x37\x8d\xaa\x95\x2b\xa7\xf1\x63\xc4\xa1"                     \
    "\x16\x28\xf5\x5a\x4d\xf5\x23\xb3\xef"
/* Transfer(nobody, caller, first argument), of ERC-20 and of ERC-721. */
#define LOG_20  "\x60\x04\x35\x5f\x52\x33\x5f\x7f" TOPIC "\x60\x20\x5f\xa3"
#define LOG_721 "\x60\x04\x35\x33\x5f\x7f" TOPIC "\x5f\x5f\xa4"

enum { LONG = 20000 };

static const char *path_of(const char *token, const char *more)
{
    return cd_arena_fmt(&g.node.arena, "/token/%s%s", token, more);
}

static void mint(const char *token, const char *word)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    (void)rig_send(
        cd_arena_fmt(&g.node.arena, ",\"to\":\"%s\",\"data\":\"0x01020304%s%s\"", token, zeros + strlen(word), word));
}

static cd_bytes word_of_alice(void)
{
    u8 *out = cd_arena_zalloc(&g.node.arena, 32);
    assert_int_equal(cd_hex_parse(out + 12, cd_bytes_of(&ALICE[2], 40)), CD_OK);
    return cd_bytes_of(out, 32);
}

static void test_erc20(void **state)
{
    (void)state;
    const rig_answer answers[] = {
        {.signature = "name()", .data = rig_string("Lumen", 5)},
        {.signature = "symbol()", .data = rig_string("LMN", 3)},
        {.signature = "decimals()", .data = rig_word(2)},
        {.signature = "totalSupply()", .data = rig_word(123456)},
        {.signature = "balanceOf(address)", .data = rig_word(61728)},
    };
    rig_says(rig_get("/tokens"), "No tokens");
    const char *token = rig_deploy(answers, CD_COUNT(answers), cd_bytes_of(LOG_20, sizeof LOG_20)); // NUL: STOP
    rig_says(rig_plain(rig_html(path_of(token, ""), "404")), "No token at");
    mint(token, "1f4");
    rig_says(rig_get("/tokens"), "Lumen LMN ERC-20 1,234.56 LMN");
    const char *page = rig_get(path_of(token, ""));
    rig_says(page, "Lumen LMN");
    rig_says(page, "5.00 LMN");
    rig_says(page, "Decimals 2");
    rig_says(page, "123456 base units");
    page = rig_get(path_of(token, "?tab=holders"));
    rig_says(page, "617.28 LMN 50.00");
    rig_says(rig_get(path_of(token, "?tab=%3Cb%3E&before=1.2.3&after=0xzz")), "5.00 LMN");
    rig_says(rig_get(path_of(token, "?before=0.0.0.0")), "Nothing on this page");
    assert_memory_equal(rig_ask("GET", "/search?q=lmn", "text/plain", (cd_bytes){0}) + 9, "303", 3);
    rig_says(cd_buf_cstr(&g.page), "Location: /explorer/token/0x");
    rig_says(rig_get(cd_arena_fmt(&g.node.arena, "/address/%s", token)), "Read and write");
}

/* A name of twenty kilobytes with markup and marks, decimals without end. */
static void test_hostile(void **state)
{
    (void)state;
    char *name = cd_arena_alloc(&g.node.arena, LONG);
    memset(name, 'x', LONG);
    static const char start[] = "</title><script>alert(1)</script>\xe2\x80\xae\xe2\x81\xa6\xff\"'<!--";
    memcpy(name, start, sizeof start - 1);
    const rig_answer answers[] = {
        {.signature = "name()", .data = rig_string(name, LONG)},
        {.signature = "symbol()", .data = rig_word(1)},
        {.signature = "decimals()", .data = rig_word(UINT64_MAX)},
        {.signature = "totalSupply()", .data = cd_bytes_of("\xff", 1)},
        {.signature = "balanceOf(address)", .data = rig_word(5), .must_fail = true},
    };
    const char *token = rig_deploy(answers, CD_COUNT(answers), cd_bytes_of(LOG_20, sizeof LOG_20));
    mint(token, "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff");
    const char *const pages[] = {"/tokens", path_of(token, ""), path_of(token, "?tab=holders"),
                                 cd_arena_fmt(&g.node.arena, "/contract/%s", token),
                                 cd_arena_fmt(&g.node.arena, "/address/%s?tab=tokens", token)};
    for (usize i = 0; i < CD_COUNT(pages); i++) {
        const char *html = rig_html(pages[i], "200");
        assert_null(strstr(html, "<script>alert"));
        assert_null(strstr(html, "<!--"));
        assert_null(strstr(html, "\xe2\x80\xae"));
        assert_null(strstr(html, "\xe2\x81\xa6"));
        assert_null(strchr(html, '\xff'));
        assert_true(strlen(html) < (i < 3 ? 40000 : 200000)); // the others show the code too
    }
    const char *page = rig_get(path_of(token, ""));
    rig_says(page, "does not say; amounts are in base units");
    rig_says(page, "Supply does not say");
    rig_says(page, "∞");
}

/* Everything that is asked is answered with a string of 400,000 bytes. */
static void test_large(void **state)
{
    (void)state;
    static const char answer[] = "\x60\x20\x5f\x52\x62\x06\x1a\x80\x60\x20\x52\x62\x06\x1a\xc0\x5f\xf3";
    static const char *const looks[] = {"transfer(address,uint256)",
                                        "transferFrom(address,address,uint256)",
                                        "approve(address,uint256)",
                                        "allowance(address,address)",
                                        "balanceOf(address)",
                                        "totalSupply()",
                                        "name()"};
    cd_buf code = {0};
    cd_buf_put(&code, cd_bytes_of(answer, sizeof answer - 1));
    for (usize i = 0; i < CD_COUNT(looks); i++) {
        cd_buf_u8(&code, 0x63);
        cd_abi_selector(cd_buf_extend(&code, 4), looks[i]);
    }
    const char *token = rig_deploy(NULL, 0, cd_buf_bytes(&code));
    cd_buf_fini(&code);
    const char *html = rig_html(path_of(token, ""), "200");
    assert_true(strlen(html) < 40000);
    rig_says(rig_plain(html), "Supply does not say");
    html = rig_html(cd_arena_fmt(&g.node.arena, "/contract/%s?f=balanceOf(address+o)+view(uint256[])&a0=" BOB, token),
                    "200");
    assert_true(strlen(html) < 40000);
    rig_says(rig_plain(html), "Result not (uint256[])");
}

static void test_nft(void **state)
{
    (void)state;
    const rig_answer answers[] = {
        {.signature = "name()", .data = rig_string("Lantern", 7)},
        {.signature = "symbol()", .data = rig_string("LAN", 3)},
        {.signature = "ownerOf(uint256)", .data = word_of_alice()},
        {.signature = "tokenURI(uint256)", .data = rig_string("https://else.where/<7>", 22)},
    };
    const char *token = rig_deploy(answers, CD_COUNT(answers), cd_bytes_of(LOG_721, sizeof LOG_721));
    mint(token, "7");
    rig_says(rig_get(path_of(token, "")), "#7 LAN");
    const char *html = rig_html(path_of(token, "?tab=ids"), "200");
    assert_null(strstr(html, "href=\"https"));
    const char *page = rig_plain(html);
    rig_says(page, "#7 ");
    rig_says(page, "0xf39Fd6");
    rig_says(page, "https://else.where/<7>");
    rig_says(rig_get(path_of(token, "?tab=holders")), "1 of #7");
}

/* balanceOf(a) is what the last two bytes of a say; anything else is Transfer(nobody, first argument, 1). */
#define BY_ADDRESS                                                                                                     \
    "\x36\x60\x24\x14\x60\x35\x57\x60\x01\x5f\x52\x60\x04\x35\x5f\x7f" TOPIC                                           \
    "\x60\x20\x5f\xa3\x00\x5b\x60\x04\x35\x61\xff\xff\x16\x5f\x52\x60\x20\x5f\xf3"

enum { HOLDERS = 60, PAGE = 25 };

/* The order is one over all pages, whatever the order of the addresses. */
static void test_holders_most_first(void **state)
{
    (void)state;
    const char *token = rig_deploy(NULL, 0, cd_bytes_of(BY_ADDRESS, sizeof BY_ADDRESS - 1));
    for (u32 i = 1; i <= HOLDERS; i++) { // the larger, the later in the order of addresses, or the other way round
        (void)rig_send(cd_arena_fmt(&g.node.arena, ",\"to\":\"%s\",\"data\":\"0x01020304%024u%02x%034x%04x%064u\"",
                                    token, 0, (i * 37) % 251, 0, i * 10, 0));
    }
    const char *query = "?tab=holders";
    for (u32 first = 0; first < HOLDERS; first += PAGE) {
        u32 end = first + PAGE < HOLDERS ? first + PAGE : HOLDERS;
        const char *html = rig_html(path_of(token, query), "200");
        const char *at = html;
        for (u32 i = first; i < end; i++) {
            at = strstr(at, cd_arena_fmt(&g.node.arena, "\"any\">%u units<", (HOLDERS - i) * 10));
            assert_non_null(at);
        }
        rig_says(rig_plain(html), cd_arena_fmt(&g.node.arena, "%u to %u of %d, most first", first + 1, end, HOLDERS));
        query = cd_arena_fmt(&g.node.arena, "?tab=holders&from=%u", end);
        assert_int_equal(strstr(html, cd_arena_fmt(&g.node.arena, "?tab=holders&amp;from=%u", end)) != NULL,
                         end < HOLDERS);
    }
    rig_says(rig_get(path_of(token, "?tab=holders&from=99999999999999999999")), "1 to 25 of 60");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_erc20), cmocka_unit_test(test_hostile),
                                       cmocka_unit_test(test_large), cmocka_unit_test(test_nft),
                                       cmocka_unit_test(test_holders_most_first)};
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
