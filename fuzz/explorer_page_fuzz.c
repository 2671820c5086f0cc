/* Any bytes as what a token says of itself, as an ABI, and as what stands in the address of a page: the explorer
 * answers, and what it answers is markup of its own only.
 *
 * Input: a byte that chooses the page, text for its address up to a NUL, bytes of the token. */
#include "explorer/test/rig.h"
#include "web/html.h"

#include <signal.h>

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

#define TOKEN "0x00000000000000000000000000000000000070c0"

enum { NAME_MAX_LEN = 4000, TEXT_MAX_LEN = 1500 };

/* --- what comes out --- */

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

/* Gives what follows a tag; attributes have names of ours, values in quotes, and lead nowhere else. */
static const char *check_tag(const char *at)
{
    at += *at == '/' ? 1 : 0;
    CD_ASSERT(is_name(*at));
    CD_ASSERT(strncmp(at, "img", 3) != 0 && strncmp(at, "iframe", 6) != 0 && strncmp(at, "style", 5) != 0 &&
              strncmp(at, "object", 6) != 0);
    while (is_name(*at)) {
        at++;
    }
    while (*at != '>') {
        CD_ASSERT(*at == ' ' || *at == '\n' || *at == '/');
        at++;
        const char *name = at;
        while (is_name(*at)) {
            at++;
        }
        CD_ASSERT(at - name < 2 || strncmp(name, "on", 2) != 0);
        if (*at == '=') {
            const char *end = strchr(at + 2, '"');
            CD_ASSERT(at[1] == '"' && end != NULL);
            if (strncmp(name, "href", 4) == 0 || strncmp(name, "action", 6) == 0) {
                CD_ASSERT((at[2] == '/' && at[3] != '/') || at[2] == '?' || at[2] == '#');
            }
            at = end + 1;
        }
    }
    return at + 1;
}

/* has_form: what was posted stands in a field of the form again, as it was. */
static void check_page(const char *page, bool has_form)
{
    usize scripts = 0;
    const char *body = strstr(page, "\r\n\r\n");
    CD_ASSERT(body != NULL && page[9] != '5');
    if (strstr(page, "text/html") == NULL) {
        return;
    }
    CD_ASSERT(has_form || strstr(body, "\xe2\x80\xae") == NULL);
    for (const char *at = body; (at = strchr(at, '<')) != NULL;) {
        scripts += strncmp(at, "<script", 7) == 0 ? 1 : 0;
        at = at[1] == '!' ? at + 2 : check_tag(at + 1);
    }
    CD_ASSERT(scripts == 1);
}

/* --- what goes in --- */

/* A contract that answers everything with a string of these bytes, and looks like a token. */
static void set_token(cd_bytes name)
{
    static const char *const looks[] = {"transfer(address,uint256)",
                                        "transferFrom(address,address,uint256)",
                                        "approve(address,uint256)",
                                        "allowance(address,address)",
                                        "balanceOf(address)",
                                        "totalSupply()",
                                        "name()",
                                        "symbol()",
                                        "decimals()"};
    cd_buf code = {0};
    cd_buf params = {0};
    cd_bytes said = rig_string((const char *)name.p, name.n);
    rig_push2(&code, said.n);
    rig_push2(&code, 13);
    cd_buf_put(&code, cd_bytes_str("\x5f\x39"));
    rig_push2(&code, said.n);
    cd_buf_put(&code, cd_bytes_str("\x5f\xf3"));
    cd_buf_put(&code, said);
    for (usize i = 0; i < CD_COUNT(looks); i++) {
        u8 selector[4];
        cd_abi_selector(selector, looks[i]);
        cd_buf_u8(&code, 0x63);
        cd_buf_put(&code, cd_bytes_of(selector, 4));
    }
    cd_buf_str(&params, "[\"" TOKEN "\",\"");
    cd_hex_put(&params, cd_buf_bytes(&code));
    cd_buf_str(&params, "\"]");
    (void)rpc_node_get(&g.node, "hardhat_setCode", cd_buf_cstr(&params));
    cd_buf_fini(&code);
    cd_buf_fini(&params);
}

static void ask(u8 which, cd_bytes text, cd_bytes bytes)
{
    static const char *const pages[] = {
        "/token/" TOKEN "?tab=",
        "/contract/" TOKEN "?f=",
        "/contract/" TOKEN "?f=balanceOf(address+o)+view(string)&a0=",
        "/search?q=",
        "/blocks?from=",
        "/block/C/",
        "/tx/",
        "/address/",
        "/token/" TOKEN "?before=",
        "/",
    };
    cd_buf path = {0};
    cd_buf form = {0};
    if (which % (CD_COUNT(pages) + 1) == CD_COUNT(pages)) {
        cd_buf_str(&form, "--XX\r\nContent-Disposition: form-data; name=\"abi\"\r\n\r\n");
        cd_buf_put(&form, bytes);
        cd_buf_str(&form, "\r\n--XX--\r\n");
        check_page(rig_ask("POST", "/contract/" TOKEN, "multipart/form-data; boundary=XX", cd_buf_bytes(&form)), true);
    } else {
        cd_buf_str(&path, pages[which % (CD_COUNT(pages) + 1)]);
        cd_url_part_enc(&path, text);
        check_page(rig_ask("GET", cd_buf_cstr(&path), "text/plain", (cd_bytes){0}), false);
    }
    cd_buf_fini(&path);
    cd_buf_fini(&form);
}

static void end(void)
{
    (void)rig_close(NULL);
}

/* The fuzzer's alarm clock must not end a connect. */
static void restart_calls(void)
{
    struct sigaction act;
    CD_ASSERT(sigaction(SIGALRM, NULL, &act) == 0);
    act.sa_flags |= SA_RESTART;
    CD_ASSERT(sigaction(SIGALRM, &act, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    static bool is_open;
    if (!is_open) {
        restart_calls();
        CD_ASSERT(rig_open(NULL) == 0 && atexit(end) == 0);
        is_open = true;
    }
    if (size == 0) {
        return 0;
    }
    const u8 *nul = memchr(data + 1, 0, size - 1);
    usize n = nul == NULL ? size - 1 : (usize)(nul - data - 1);
    cd_bytes text = cd_bytes_of(data + 1, n < TEXT_MAX_LEN ? n : TEXT_MAX_LEN);
    cd_bytes rest = nul == NULL ? text : cd_bytes_of(nul + 1, size - n - 2);
    rest.n = rest.n < NAME_MAX_LEN ? rest.n : NAME_MAX_LEN;
    set_token(rest);
    ask(data[0], text, rest);
    cd_arena_reset(&g.node.arena);
    return 0;
}
