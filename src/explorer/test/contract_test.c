/* What the page of a contract says, over a real chain and server. */
#include "explorer/test/rig.h"

#define NASTY "<script>alert(1)</script>\xe2\x80\xae\"'"

static const char *token;
static const char *path; /* of its page */

/* A token that answers, and says no to transfers with a reason of its own. */
static int open(void **state)
{
    assert_int_equal(rig_open(state), 0);
    u8 *reason = cd_arena_zalloc(&g.node.arena, 100);
    cd_abi_selector(reason, "ERC20InsufficientBalance(address,uint256,uint256)");
    reason[35] = 0x77;
    reason[67] = 5;
    reason[99] = 9;
    const rig_answer answers[] = {
        {.signature = "name()", .data = rig_string(NASTY, sizeof NASTY - 1)},
        {.signature = "symbol()", .data = rig_string("LMN", 3)},
        {.signature = "decimals()", .data = rig_word(2)},
        {.signature = "totalSupply()", .data = rig_word(123456)},
        {.signature = "balanceOf(address)", .data = rig_word(125000)},
        {.signature = "allowance(address,address)", .data = rig_word(0)},
        {.signature = "approve(address,uint256)", .data = rig_word(1)},
        {.signature = "transferFrom(address,address,uint256)", .data = rig_word(1)},
        {.signature = "transfer(address,uint256)", .data = cd_bytes_of(reason, 100), .must_fail = true},
        {.signature = "owner()", .data = rig_word(1), .must_fail = true},
    };
    token = rig_deploy(answers, CD_COUNT(answers), cd_bytes_of("", 1));
    path = cd_arena_fmt(&g.node.arena, "/contract/%s", token);
    return 0;
}

static void test_known(void **state)
{
    (void)state;
    const char *html = rig_html(path, "200");
    assert_null(strstr(html, "<script>alert"));
    assert_null(strstr(html, "\xe2\x80\xae"));
    const char *page = rig_plain(html);
    rig_says(page, "ERC-20");
    rig_says(page, "totalSupply 123,456");
    rig_says(page, "symbol LMN");
    rig_says(page, "name <script>alert(1)</script>\"'");
    rig_says(page, "owner fails");
    rig_says(page, "balanceOf (address) 0x70a08231");
    rig_says(page, "transfer (address,uint256) 0xa9059cbb");
}

static void test_read(void **state)
{
    (void)state;
    const char *page =
        rig_get(cd_arena_fmt(&g.node.arena, "%s?f=balanceOf(address+owner)+view(uint256)&a0=" BOB, path));
    rig_says(page, "Answered");
    rig_says(page, "uint256 125,000");
    rig_says(page, "1,250.00 LMN");
    page = rig_get(cd_arena_fmt(&g.node.arena, "%s?f=balanceOf(address+owner)+view(uint256)&a0=me", path));
    rig_says(page, "argument 1: an address is 0x");
    page = rig_get(cd_arena_fmt(&g.node.arena, "%s?f=%%3Cb%%3E", path));
    rig_says(page, "not a function such as");
    page = rig_get(cd_arena_fmt(&g.node.arena, "%s?f=symbol()+view(uint8)&block=999", path));
    rig_says(page, "there is no such block");
    page = rig_get(cd_arena_fmt(&g.node.arena, "%s?f=totalSupply()+view(bool)", path));
    rig_says(page, "Result not (bool)");
}

static void test_write(void **state)
{
    (void)state;
    const char *html = rig_html(
        cd_arena_fmt(&g.node.arena,
                     "%s?f=approve(address+spender,uint256+amount)+(bool)&a0=" BOB "&a1=0x10&from=" ALICE, path),
        "200");
    rig_says(html, "&quot;from&quot;:&quot;" ALICE "&quot;");
    rig_says(html, "0x095ea7b3000000000000000000000000"
                   "70997970c51812dc3a010c7d01b50e0d17dc79c8"
                   "0000000000000000000000000000000000000000000000000000000000000010");
    rig_says(rig_plain(html), "Would succeed");
    const char *page =
        rig_get(cd_arena_fmt(&g.node.arena, "%s?f=transfer(address+to,uint256+amount)+(bool)&a0=" BOB "&a1=9", path));
    rig_says(page, "Would fail ERC20InsufficientBalance: sender "
                   "0x0000000000000000000000000000000000000077, balance 5, needed 9");
    page = rig_get(cd_arena_fmt(
        &g.node.arena, "%s?f=approve(address+spender,uint256+amount)+payable(bool)&a0=" BOB "&a1=1&value=1+LUX", path));
    rig_says(page, "It could not be tried");
}

static const char *post(const char *body)
{
    return rig_ask("POST", path, "multipart/form-data; boundary=XX", cd_bytes_str(body));
}

static void test_abi(void **state)
{
    (void)state;
    const char *page =
        rig_plain(post("--XX\r\nContent-Disposition: form-data; name=\"abi\"\r\n\r\nquote((uint8 "
                       "x,address)[] k) view(uint256)\nbuy(uint256 n) payable\r\n"
                       "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\"\r\n\r\n\r\n--XX--"));
    rig_says(page, "1 in the ABI");
    rig_says(page, "quote ((uint8,address)[])");
    rig_says(page, "such as 0.5 LUX");
    page = rig_plain(post("--XX\r\nContent-Disposition: form-data; name=\"file\"; "
                          "filename=\"a.json\"\r\n\r\n[{\"type\":\"function\",\"name\":\"ping\","
                          "\"inputs\":[],\"outputs\":[]}]\r\n--XX--\r\n"));
    rig_says(page, "ping ()");
    page = rig_plain(post("--XX\r\nContent-Disposition: form-data; name=\"abi\"\r\n\r\n"
                          "<img src=x onerror=alert(1)>\r\n--XX--"));
    rig_says(page, "This is no ABI");
    assert_null(strstr(cd_buf_cstr(&g.page), "<img"));
    rig_says(rig_plain(post("no part")), "This is no ABI");
    (void)rig_ask("POST", "/blocks", "text/plain", (cd_bytes){0});
    assert_memory_equal(g.page.p + 9, "405", 3);
}

/* What was typed stays in its field, beside the answer; so does an ABI. */
static void test_kept(void **state)
{
    (void)state;
    const char *html =
        rig_html(cd_arena_fmt(&g.node.arena, "%s?f=balanceOf(address+owner)+view(uint256)&a0=" BOB, path), "200");
    rig_says(html, "<details class=\"fn\" open>");
    rig_says(html, "name=\"a0\" value=\"" BOB "\"");
    html = rig_html(
        cd_arena_fmt(&g.node.arena, "%s?f=odd(string+s)+payable&a0=%%22%%3C/textarea%%3E&value=3&from=0x5", path),
        "200"); // a function that the page does not know
    rig_says(html, "&lt;/textarea&gt;</textarea>");
    rig_says(html, "name=\"value\" value=\"3\"");
    rig_says(html, "name=\"from\" value=\"0x5\"");
    html = post("--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n"
                "odd(uint8 x) view(uint256)\nbalanceOf(address who) view(uint256)\r\n"
                "--XX\r\nContent-Disposition: form-data; name=\"f0.a0\"\r\n\r\n1\r\n"
                "--XX\r\nContent-Disposition: form-data; name=\"f1.a0\"\r\n\r\n" BOB "\r\n"
                "--XX\r\nContent-Disposition: form-data; name=\"ask\"\r\n\r\n1\r\n--XX--");
    rig_says(html, "name=\"f1.a0\" form=\"abi\" value=\"" BOB "\"");
    rig_says(html, "balanceOf(address who) view(uint256)</textarea>");
    const char *page = rig_plain(html);
    rig_says(page, "Answer balanceOf");
    rig_says(page, "Answered");
    rig_says(page, "uint256 125,000");
    rig_says(page, "2 in the ABI");
    html = post("--XX\r\nContent-Disposition: form-data; name=\"abi\"\r\n\r\nodd(uint8 x) view(uint256)\r\n"
                "--XX\r\nContent-Disposition: form-data; name=\"ask\"\r\n\r\n1\r\n--XX--");
    assert_null(strstr(html, "id=\"answer\"")); // there is no second function
}

/* A proxy has the functions of what it leads to. */
static void test_proxies(void **state)
{
    (void)state;
    static const char minimal[] = "0x00000000000000000000000000000000000011e7";
    static const char slot[] = "0x0000000000000000000000000000000000001967";
    (void)rpc_node_get(&g.node, "hardhat_setCode",
                       cd_arena_fmt(&g.node.arena,
                                    "[\"%s\",\"0x363d3d373d3d3d363d73%s5af43d82803e903d91602b57fd5bf3\"]", minimal,
                                    token + 2));
    const char *page = rig_get(cd_arena_fmt(&g.node.arena, "/contract/%s", minimal));
    rig_says(page, "Proxy EIP-1167 to");
    rig_says(page, "Size 45 B");
    rig_says(page, "symbol LMN"); // asked of the proxy, which runs the other's code
    rig_says(page, "ERC-20");
    (void)rpc_node_get(&g.node, "hardhat_setCode", cd_arena_fmt(&g.node.arena, "[\"%s\",\"0x00\"]", slot));
    assert_null(strstr(rig_get(cd_arena_fmt(&g.node.arena, "/contract/%s", slot)), "Proxy"));
    (void)rpc_node_get(&g.node, "hardhat_setStorageAt",
                       cd_arena_fmt(&g.node.arena,
                                    "[\"%s\",\"0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc\","
                                    "\"0x000000000000000000000000%s\"]",
                                    slot, token + 2));
    page = rig_get(cd_arena_fmt(&g.node.arena, "/contract/%s", slot));
    rig_says(page, "Proxy EIP-1967 to");
    rig_says(page, "balanceOf (address) 0x70a08231");
}

static void test_missing(void **state)
{
    (void)state;
    rig_says(rig_plain(rig_html("/contract/" BOB, "404")), "There is no code behind it");
    rig_says(rig_plain(rig_html("/contract/%3Cimg%3E", "404")), "No contract");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),   cmocka_unit_test(test_read), cmocka_unit_test(test_write),
        cmocka_unit_test(test_abi),     cmocka_unit_test(test_kept), cmocka_unit_test(test_proxies),
        cmocka_unit_test(test_missing),
    };
    return cmocka_run_group_tests(tests, open, rig_close);
}
