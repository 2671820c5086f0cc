/* Where webhooks may send to: URLs that hide where they lead, networks, names whose answer changes. */
#include "services/webhook/core/send/target.h"

#include "base/mem/mem.h"
#include "base/table/list.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static cd_loop *loop;

static cd_wh_guard *guard(const cd_wh_guard_cfg *cfg)
{
    cd_wh_guard *g;
    cd_errinfo why = {0};
    assert_int_equal(cd_wh_guard_new(&g, loop, cfg, &why), CD_OK);
    return g;
}

static cd_err parse(cd_wh_target *t, const cd_wh_guard *g, const char *url)
{
    cd_errinfo why = {0};
    cd_err e = cd_wh_target_parse(t, g, cd_bytes_str(url), &why);
    assert_true((e == CD_OK) == (why.msg[0] == '\0'));
    return e;
}

/* Refused by their text alone. */
static void hostile_urls(void **state)
{
    (void)state;
    static const char *const rows[] = {
        /* numbers that are addresses */
        "https://0/",
        "https://1/",
        "https://127.1/",
        "https://127.0.1/",
        "https://0x7f.1/",
        "https://0x7F000001/",
        "https://017700000001/",
        "https://2130706433/",
        "https://3232235777/",
        "https://0xA9FEA9FE/",
        "https://169.254.43518/",
        "https://0251.0376.0251.0376/",
        "https://127.0.0.1./",
        "https://127.0.0.1..",
        "https://127.0.0.0x1/",
        "https://0000127.0.0.1/",
        "https://127.000.000.001/",
        "https://00.0.0.0/",
        "https://256.256.256.256/",
        "https://127.0.0.1.1/",
        "https://4294967295/",
        "https://4294967297/",
        "https://foo.0x/",
        "https://example.1/",
        /* addresses in IPv6 */
        "https://[::]/",
        "https://[::1]/",
        "https://[0:0:0:0:0:0:0:1]/",
        "https://[::127.0.0.1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://[::ffff:0:127.0.0.1]/",
        "https://[64:ff9b::10.0.0.1]/",
        "https://[64:ff9b:1::1]/",
        "https://[2002:a00:1::]/",
        "https://[2002:c0a8:101::1]/",
        "https://[2001::1]/",
        "https://[2001:db8::1]/",
        "https://[fe80::1]/",
        "https://[fe80::1%25eth0]/",
        "https://[fe80::1%eth0]/",
        "https://[fec0::1]/",
        "https://[fd12:3456::1]/",
        "https://[ff02::1]/",
        "https://[100::1]/",
        "https://[4000::1]/",
        "https://[3fff::1]/",
        "https://[::1",
        "https://::1/",
        "https://[]/",
        "https://[127.0.0.1]/",
        "https://[::1]x/",
        "https://[v1.x]/",
        "https://[2606:4700::1111]:/",
        /* names of this machine */
        "https://localhost/",
        "https://LOCALHOST/",
        "https://localhost./",
        "https://a.localhost/",
        "https://Foo.LocalHost.:443/",
        /* two readers, two hosts */
        "https://example.com@127.0.0.1/",
        "https://127.0.0.1@example.com/",
        "https://:@example.com/",
        "https://@example.com/",
        "https://example.com:80@127.0.0.1/",
        "https://example.com\\.evil.test/",
        "https://example.com\\@127.0.0.1/",
        "https:\\\\example.com/",
        "https:/example.com/",
        "https:example.com",
        "https:///example.com/",
        "https://example.com#@127.0.0.1/",
        "https://example.com?@a#b",
        "https://127.0.0.1%2f@example.com/",
        "https://%6cocalhost/",
        "https://127.0.0.1%00.example.com/",
        "https://example.com%20/",
        "https://example.com%0d%0aHost:x/",
        "https://exa\tmple.com/",
        "https://example.com/\r\nX-Evil: 1",
        "https://example.com/ ",
        " https://example.com/",
        "https://example.com/\x7f",
        "https://example.com/{a}",
        "https://example.com/\"x\"",
        "https://a..b/",
        "https://.example.com/",
        "https://-a.example/",
        "https://a-.example/",
        "https://exam!ple.com/",
        "https://example.com,127.0.0.1/",
        "https://example.com;127.0.0.1/",
        "https://*.example.com/",
        /* IDN and look-alikes */
        "https://\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1/",
        "https://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/",
        "https://b\303\274cher.example/",
        "https://127\343\200\2020\343\200\2020\343\200\2021/",
        "https://\342\223\233\342\223\236calhost/",
        "https://example\xc2\xad.com/",
        "https://\xff/",
        /* ports and schemes */
        "https://example.com:0/",
        "https://example.com:1/",
        "https://example.com:22/",
        "https://example.com:25/",
        "https://example.com:6379/",
        "https://example.com:11211/",
        "https://example.com:3306/",
        "https://example.com:65536/",
        "https://example.com:443443/",
        "https://example.com:-1/",
        "https://example.com:+443/",
        "https://example.com:0443/",
        "https://example.com:443:443/",
        "https://example.com:/",
        "https://example.com: 443/",
        "https://example.com:0x1bb/",
        "http://example.com/",
        "HTTP://example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com:11211/_stats",
        "dict://example.com/",
        "javascript:alert(1)",
        "data:text/plain,x",
        "unix:///var/run/docker.sock",
        "//example.com/",
        "example.com",
        "https",
        "https:",
        "https://",
        "",
    };
    cd_wh_guard *g = guard(&(cd_wh_guard_cfg){0});
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_wh_target t;
        if (parse(&t, g, rows[i]) == CD_OK) {
            fail_msg("accepted: %s", rows[i]);
        }
    }
    assert_true(CD_COUNT(rows) >= 60);
    cd_wh_guard_free(g);
}

static void fine_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url, *host;
        u16 port;
        const char *address; /* NULL: a name */
    } rows[] = {
        {"https://example.com", "example.com", 443, NULL},
        {"HTTPS://Example.COM.:8443/Path?q=%20@", "example.com", 8443, NULL},
        {"https://example.com?x=/y:z@w", "example.com", 443, NULL},
        {"https://8.8.8.8:1024/", "8.8.8.8", 1024, "8.8.8.8"},
        {"https://[2606:4700:0:0::1111]:8443/x", "2606:4700:0:0::1111", 8443, "2606:4700::1111"},
        {"https://[::ffff:8.8.8.8]/", "::ffff:8.8.8.8", 443, "::ffff:8.8.8.8"},
        {"https://[64:ff9b::808:808]/", "64:ff9b::808:808", 443, "64:ff9b::808:808"},
        {"https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, NULL},
        {"https://a_b.example.com:65535/", "a_b.example.com", 65535, NULL},
        {"https://1.2.3.example/", "1.2.3.example", 443, NULL},
        {"https://localhost.example/", "localhost.example", 443, NULL},
    };
    cd_wh_guard *g = guard(&(cd_wh_guard_cfg){0});
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_wh_target t;
        assert_int_equal(parse(&t, g, rows[i].url), CD_OK);
        assert_string_equal(t.host, rows[i].host);
        assert_int_equal(t.port, rows[i].port);
        assert_int_equal(t.is_literal, rows[i].address != NULL);
        if (t.is_literal) {
            assert_string_equal(t.address, rows[i].address);
        }
    }
    char longest[CD_WH_URL_MAX + 2] = "https://example.com/";
    memset(longest + 20, 'a', CD_WH_URL_MAX + 1 - 20);
    cd_wh_target t;
    assert_int_equal(parse(&t, g, longest), CD_EFORMAT);
    longest[CD_WH_URL_MAX] = '\0';
    assert_int_equal(parse(&t, g, longest), CD_OK);
    cd_wh_guard_free(g);
}

static bool may(const cd_wh_guard *g, const char *text)
{
    u8 b[16];
    if (inet_pton(AF_INET, text, b) == 1) {
        return cd_wh_guard_may(g, cd_bytes_of(b, 4));
    }
    assert_int_equal(inet_pton(AF_INET6, text, b), 1);
    return cd_wh_guard_may(g, cd_bytes_of(b, 16));
}

/* The first and the last address of what is denied, and their neighbours. */
static void networks(void **state)
{
    (void)state;
    static const char *const denied[] = {
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.0",
        "127.255.255.255",
        "169.254.0.0",
        "169.254.255.255",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.0",
        "192.0.0.255",
        "192.0.2.0",
        "192.0.2.255",
        "192.88.99.0",
        "192.88.99.255",
        "192.168.0.0",
        "192.168.255.255",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.0",
        "198.51.100.255",
        "203.0.113.0",
        "203.0.113.255",
        "224.0.0.0",
        "239.255.255.255",
        "240.0.0.0",
        "255.255.255.255",
        "::",
        "::1",
        "::2",
        "100::",
        "100::ffff",
        "2001::",
        "2001:1ff:ffff::",
        "2001:db8::",
        "2001:db8:ffff::1",
        "fc00::",
        "fdff::1",
        "fe80::",
        "febf::1",
        "ff00::",
        "ffff::1",
        "::ffff:10.0.0.5",
        "64:ff9b::a00:5",
        "2002:a00:5::",
        "1fff::1",
        "4000::",
    };
    static const char *const fine[] = {
        "1.0.0.0",         "9.255.255.255",    "11.0.0.0",        "100.63.255.255", "100.128.0.0",
        "126.255.255.255", "128.0.0.0",        "169.253.255.255", "169.255.0.0",    "172.15.255.255",
        "172.32.0.0",      "191.255.255.255",  "192.0.1.0",       "192.0.3.0",      "192.88.98.255",
        "192.88.100.0",    "192.167.255.255",  "192.169.0.0",     "198.17.255.255", "198.20.0.0",
        "198.51.99.255",   "198.51.101.0",     "203.0.112.255",   "203.0.114.0",    "223.255.255.255",
        "2000::1",         "2001:200::1",      "2001:db7::1",     "2001:db9::1",    "2606:4700::1111",
        "::ffff:8.8.8.8",  "64:ff9b::808:808", "2002:808:808::1",
    };
    cd_wh_guard *g = guard(&(cd_wh_guard_cfg){0});
    for (usize i = 0; i < CD_COUNT(denied); i++) {
        if (may(g, denied[i])) {
            fail_msg("allowed: %s", denied[i]);
        }
    }
    for (usize i = 0; i < CD_COUNT(fine); i++) {
        if (!may(g, fine[i])) {
            fail_msg("denied: %s", fine[i]);
        }
    }
    cd_wh_guard_free(g);

    static const char *const cidrs[] = {"127.0.0.0/9", "fd00::/8", "10.1.2.3/32", "::1/128"};
    g = guard(&(cd_wh_guard_cfg){.allow_http = true, .allow_cidrs = cidrs, .allow_cidrs_cnt = CD_COUNT(cidrs)});
    assert_true(may(g, "127.0.0.1") && may(g, "127.127.255.255") && !may(g, "127.128.0.0"));
    assert_true(may(g, "fd12::1") && !may(g, "fc12::1") && may(g, "10.1.2.3") && !may(g, "10.1.2.4"));
    assert_true(may(g, "::1") && may(g, "::ffff:127.0.0.1") && !may(g, "::2"));
    cd_wh_target t;
    assert_int_equal(parse(&t, g, "http://127.0.0.1:8080/"), CD_OK);
    assert_int_equal(parse(&t, g, "http://localhost:8080/"), CD_OK);
    assert_string_equal(t.address, "127.0.0.1");
    assert_int_equal(parse(&t, g, "http://127.1:8080/"), CD_EFORMAT);
    cd_wh_guard_free(g);

    static const char *const none[] = {
        "127.0.0.1",   "127.0.0.0/33", "::/129",
        "localhost/8", "/8",           "1.2.3.4/",
        "1.2.3/8",     "1.2.3.4/-1",   "0000000000000000000000000000000000000000000000000000/8"};
    for (usize i = 0; i < CD_COUNT(none); i++) {
        cd_errinfo why = {0};
        assert_int_equal(
            cd_wh_guard_new(&g, loop, &(cd_wh_guard_cfg){.allow_cidrs = &none[i], .allow_cidrs_cnt = 1}, &why),
            CD_EFORMAT);
    }
}

/* --- names --- */

typedef struct dns {
    cd_loop_task task;
    const char *address; /* what every name leads to; NULL: nowhere */
    u32 asked;
    cd_lookup_fn *fn;
    void *arg;
} dns;

static void dns_answer(cd_loop_task *t)
{
    dns *d = cd_list_of(t, dns, task);
    cd_ip ip = {.n = 4};
    usize cnt = d->address == NULL ? 0 : 1;
    if (d->fn == NULL) {
        return;
    }
    assert_true(cnt == 0 || inet_pton(AF_INET, d->address, ip.b) == 1);
    d->fn(d->arg, cnt == 0 ? CD_ENOENT : CD_OK, &ip, cnt);
}

static void *dns_look_up(void *ctx, const char *host, cd_lookup_fn *fn, void *arg)
{
    dns *d = ctx;
    (void)host;
    d->asked++;
    d->fn = fn;
    d->arg = arg;
    d->task.fn = dns_answer;
    cd_loop_post(loop, &d->task);
    return d;
}

static void dns_drop(void *lookup)
{
    dns *d = lookup;
    d->fn = NULL;
}

typedef struct heard {
    u32 times;
    u32 awaited; /* the loop stops then */
    cd_err err;
    char address[CD_WH_ADDRESS_MAX];
} heard;

static void hear(void *ctx, cd_err err, const cd_wh_addresses *to)
{
    heard *h = ctx;
    h->err = err;
    memcpy(h->address, to->text[0], sizeof h->address);
    if (++h->times == h->awaited) {
        cd_loop_stop(loop);
    }
}

static void stop(void *ctx)
{
    (void)ctx;
    cd_loop_stop(loop);
}

static void names(void **state)
{
    (void)state;
    dns d = {.address = "93.184.216.34"};
    const cd_wh_resolver resolver = {dns_look_up, dns_drop, &d};
    cd_wh_guard *g = guard(&(cd_wh_guard_cfg){.resolver = &resolver, .keep_ms = 50});
    cd_wh_target t;
    assert_int_equal(parse(&t, g, "https://rebind.test/"), CD_OK);
    assert_false(t.is_literal);

    /* Three who ask at a time are one question; one changes its mind. */
    heard h = {.awaited = 2};
    heard silent = {0};
    (void)cd_wh_guard_look_up(g, &t, "prj", hear, &h);
    cd_wh_vetting *gone = cd_wh_guard_look_up(g, &t, "prj", hear, &silent);
    (void)cd_wh_guard_look_up(g, &t, "prj", hear, &h);
    cd_wh_vetting_drop(gone);
    assert_int_equal(h.times, 0);
    cd_loop_run(loop);
    assert_int_equal(d.asked, 1);
    assert_int_equal(silent.times, 0);
    assert_int_equal(h.err, CD_OK);
    assert_string_equal(h.address, "93.184.216.34");

    /* The answer is kept, but not for long; then the name leads into the house. */
    cd_err err;
    const cd_wh_addresses *to;
    d.address = "10.0.0.5";
    assert_true(cd_wh_guard_known(g, &t, &err, &to));
    assert_int_equal(err, CD_OK);
    cd_timer *timer = cd_timer_new(loop, stop, NULL);
    cd_timer_start(timer, 60, 0);
    cd_loop_run(loop);
    assert_false(cd_wh_guard_known(g, &t, &err, &to));
    h = (heard){.awaited = 1};
    (void)cd_wh_guard_look_up(g, &t, "prj", hear, &h);
    cd_loop_run(loop);
    assert_int_equal(h.err, CD_EACCES);
    assert_int_equal(d.asked, 2);

    /* Nowhere. */
    d.address = NULL;
    assert_int_equal(parse(&t, g, "https://gone.test/"), CD_OK);
    h = (heard){.awaited = 1};
    (void)cd_wh_guard_look_up(g, &t, "prj", hear, &h);
    cd_loop_run(loop);
    assert_int_equal(h.err, CD_ENOENT);

    /* Freed while somebody waits. */
    assert_int_equal(parse(&t, g, "https://late.test/"), CD_OK);
    (void)cd_wh_guard_look_up(g, &t, "prj", hear, &silent);
    cd_wh_guard_free(g);
    cd_timer_start(timer, 0, 0);
    cd_loop_run(loop);
    cd_timer_free(timer);
    assert_int_equal(silent.times, 0);
}

/* --- many who ask --- */

enum { DEAD = 40, AT_ONCE = 16 };

/* A resolver that is silent about some names: "dead…" never, "flaky" while it sleeps, others lead to two addresses. */
typedef struct slow_dns {
    bool is_asleep;
    u32 asked, open;
    cd_list pending;
} slow_dns;

typedef struct question {
    cd_list link;
    slow_dns *owner;
    cd_timer *timer;
    cd_lookup_fn *fn;
    void *arg;
} question;

static void question_end(question *q)
{
    cd_list_del(&q->link);
    cd_timer_free(q->timer);
    q->owner->open--;
    cd_free(q);
}

static void on_question(void *ctx)
{
    static const cd_ip found[] = {{.b = {93, 184, 216, 34}, .n = 4}, {.b = {93, 184, 216, 35}, .n = 4}};
    question *q = ctx;
    cd_lookup_fn *fn = q->fn;
    void *arg = q->arg;
    question_end(q);
    fn(arg, CD_OK, found, CD_COUNT(found));
}

static void *slow_look_up(void *ctx, const char *host, cd_lookup_fn *fn, void *arg)
{
    slow_dns *d = ctx;
    question *q = cd_new(question);
    q->owner = d;
    q->fn = fn;
    q->arg = arg;
    q->timer = cd_timer_new(loop, on_question, q);
    cd_list_push_back(&d->pending, &q->link);
    d->asked++;
    d->open++;
    if (strncmp(host, "dead", 4) != 0 && !d->is_asleep) {
        cd_timer_start(q->timer, 0, 0);
    }
    return q;
}

static void slow_drop(void *lookup)
{
    question_end(lookup);
}

static cd_wh_target target_of(const cd_wh_guard *g, const char *url)
{
    cd_wh_target t;
    assert_int_equal(parse(&t, g, url), CD_OK);
    return t;
}

/* A tenant with dead names has 16 questions at a time; another's name is asked at once, even one that the first has in
 * its queue. */
static void tenants(void **state)
{
    (void)state;
    slow_dns d = {0};
    cd_list_init(&d.pending);
    const cd_wh_resolver resolver = {slow_look_up, slow_drop, &d};
    cd_wh_guard *g = guard(&(cd_wh_guard_cfg){.resolver = &resolver, .wait_ms = 100});
    heard dead = {.awaited = DEAD};
    for (u32 i = 0; i < DEAD; i++) {
        char url[40];
        (void)snprintf(url, sizeof url, "https://dead%u.test/", i);
        cd_wh_target t = target_of(g, url);
        (void)cd_wh_guard_look_up(g, &t, "prj_bad", hear, &dead);
    }
    assert_int_equal(d.asked, AT_ONCE);
    heard own = {0};
    cd_wh_target shared = target_of(g, "https://shared.test/");
    (void)cd_wh_guard_look_up(g, &shared, "prj_bad", hear, &own);
    assert_int_equal(d.asked, AT_ONCE);
    heard h = {.awaited = 1};
    (void)cd_wh_guard_look_up(g, &shared, "prj_good", hear, &h);
    assert_int_equal(d.asked, AT_ONCE + 1);
    cd_loop_run(loop);
    assert_int_equal(h.err, CD_OK);
    assert_int_equal(own.err, CD_OK);
    assert_int_equal(own.times, 1);
    assert_int_equal(dead.times, 0);
    /* Those who wait are not kept for ever, whether their question was asked or not. */
    cd_loop_run(loop);
    assert_int_equal(dead.times, DEAD);
    assert_int_equal(dead.err, CD_ETIMEOUT);
    assert_int_equal(d.asked, AT_ONCE + 1);
    cd_wh_guard_free(g);
    assert_int_equal(d.open, 0);
}

static void on_time(void *ctx)
{
    (void)ctx;
    cd_loop_stop(loop);
}

static void pass_ms(u64 ms)
{
    cd_timer *timer = cd_timer_new(loop, on_time, NULL);
    cd_timer_start(timer, ms, 0);
    cd_loop_run(loop);
    cd_timer_free(timer);
}

/* What was good serves while nobody answers; the address that took a connection comes first. */
static void last_good(void **state)
{
    (void)state;
    slow_dns d = {0};
    cd_list_init(&d.pending);
    const cd_wh_resolver resolver = {slow_look_up, slow_drop, &d};
    cd_wh_guard *g = guard(&(cd_wh_guard_cfg){.resolver = &resolver, .keep_ms = 1, .wait_ms = 20});
    cd_wh_target t = target_of(g, "https://flaky.test/");
    heard h = {.awaited = 1};
    (void)cd_wh_guard_look_up(g, &t, "prj", hear, &h);
    cd_loop_run(loop);
    assert_string_equal(h.address, "93.184.216.34");
    cd_wh_guard_good(g, &t, "93.184.216.35");

    d.is_asleep = true;
    pass_ms(5);
    h = (heard){.awaited = 1};
    (void)cd_wh_guard_look_up(g, &t, "prj", hear, &h);
    cd_loop_run(loop);
    assert_int_equal(h.err, CD_OK);
    assert_string_equal(h.address, "93.184.216.34");
    assert_int_equal(d.open, 1);

    /* The question went on; its answer is taken when it comes. */
    question *q = cd_list_of(d.pending.next, question, link);
    cd_timer_start(q->timer, 0, 0);
    pass_ms(5);
    assert_int_equal(d.open, 0);
    d.is_asleep = false;
    h = (heard){.awaited = 1};
    (void)cd_wh_guard_look_up(g, &t, "prj", hear, &h);
    cd_loop_run(loop);
    assert_string_equal(h.address, "93.184.216.35");
    cd_wh_guard_free(g);
}

/* The system's resolver, on a name that needs no network. */
static void system_resolver(void **state)
{
    (void)state;
    static const char *const cidrs[] = {"127.0.0.0/8", "::1/128"};
    cd_wh_guard *g = guard(&(cd_wh_guard_cfg){.allow_cidrs = cidrs, .allow_cidrs_cnt = 2});
    cd_wh_target t;
    assert_int_equal(parse(&t, g, "https://name.test/"), CD_OK);
    memcpy(t.host, "localhost", 10); /* which the parser takes for what it is */
    heard h = {.awaited = 1};
    (void)cd_wh_guard_look_up(g, &t, "prj", hear, &h);
    cd_loop_run(loop);
    assert_int_equal(h.err, CD_OK);
    assert_true(strcmp(h.address, "127.0.0.1") == 0 || strcmp(h.address, "::1") == 0);
    cd_wh_guard_free(g);
}

int main(void)
{
    cd_errinfo why = {0};
    if (cd_loop_new(&loop, &why) != CD_OK) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_urls),    cmocka_unit_test(fine_urls), cmocka_unit_test(networks),
        cmocka_unit_test(names),           cmocka_unit_test(tenants),   cmocka_unit_test(last_good),
        cmocka_unit_test(system_resolver),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cd_loop_free(loop);
    return failed;
}
