#include "base/log/metrics.h"

#include "base/thread/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double seven_and_a_half(void *ctx)
{
    return *(double *)ctx;
}

static void test_text(void **state)
{
    (void)state;
    cd_metrics *m = cd_metrics_new("lux");
    const cd_label get = {"method", "eth_call"};
    const cd_label odd[] = {{"method", "a\"b\\c\nd"}, {"code", "7"}};
    static const u64 bounds[] = {5000000, 1000000000, 2500000000};

    cd_counter *c = cd_metrics_counter(m, "rpc_calls", "Calls\nby \\method.", &get, 1);
    cd_counter_add(c, 3);
    cd_counter_add(cd_metrics_counter(m, "rpc_calls", "Calls\nby \\method.", odd, 2), 1);
    assert_ptr_equal(cd_metrics_counter(m, "rpc_calls", "Calls", &get, 1), c);
    cd_gauge *g = cd_metrics_gauge(m, "peers", "Peers.", NULL, 0);
    cd_gauge_set(g, 5);
    cd_gauge_add(g, -7);
    assert_int_equal(cd_gauge_get(g), -2);
    double v = 7.5;
    cd_metrics_gauge_fn(m, "load", "Load.", NULL, 0, seven_and_a_half, &v);
    cd_hist *h = cd_metrics_hist(m, "wait_seconds", "Waits.", &get, 1, bounds, 3, 1e9);
    assert_ptr_equal(cd_metrics_hist(m, "wait_seconds", "", &get, 1, bounds, 3, 1e9), h);
    cd_hist_add(h, 5000000);
    cd_hist_add(h, 5000001);
    cd_hist_add(h, 3000000000);
    cd_hist *plain = cd_metrics_hist(m, "size_bytes", "Sizes.", NULL, 0, &(u64){1024}, 1, 1);
    cd_hist_add(plain, 1000);

    cd_buf out = {0};
    cd_metrics_fmt(m, &out);
    assert_string_equal(cd_buf_cstr(&out), "# HELP lux_load Load.\n"
                                           "# TYPE lux_load gauge\n"
                                           "lux_load 7.5\n"
                                           "# HELP lux_peers Peers.\n"
                                           "# TYPE lux_peers gauge\n"
                                           "lux_peers -2\n"
                                           "# HELP lux_rpc_calls Calls\\nby \\\\method.\n"
                                           "# TYPE lux_rpc_calls counter\n"
                                           "lux_rpc_calls{method=\"a\\\"b\\\\c\\nd\",code=\"7\"} 1\n"
                                           "lux_rpc_calls{method=\"eth_call\"} 3\n"
                                           "# HELP lux_size_bytes Sizes.\n"
                                           "# TYPE lux_size_bytes histogram\n"
                                           "lux_size_bytes_bucket{le=\"1024\"} 1\n"
                                           "lux_size_bytes_bucket{le=\"+Inf\"} 1\n"
                                           "lux_size_bytes_sum 1000\n"
                                           "lux_size_bytes_count 1\n"
                                           "# HELP lux_wait_seconds Waits.\n"
                                           "# TYPE lux_wait_seconds histogram\n"
                                           "lux_wait_seconds_bucket{method=\"eth_call\",le=\"0.005\"} 1\n"
                                           "lux_wait_seconds_bucket{method=\"eth_call\",le=\"1\"} 2\n"
                                           "lux_wait_seconds_bucket{method=\"eth_call\",le=\"2.5\"} 2\n"
                                           "lux_wait_seconds_bucket{method=\"eth_call\",le=\"+Inf\"} 3\n"
                                           "lux_wait_seconds_sum{method=\"eth_call\"} 3.010000001\n"
                                           "lux_wait_seconds_count{method=\"eth_call\"} 3\n");
    cd_buf_fini(&out);
    cd_metrics_free(m);
    cd_metrics_free(NULL);
}

typedef struct worker {
    cd_metrics *m;
    char name[16];
} worker;

static void worker_main(void *arg)
{
    worker *w = arg;
    const cd_label label = {"worker", w->name};
    cd_counter *own = cd_metrics_counter(w->m, "own", "Own.", &label, 1);
    cd_counter *both = cd_metrics_counter(w->m, "both", "Shared.", NULL, 0);
    cd_hist *h = cd_metrics_hist(w->m, "h", "H.", NULL, 0, &(u64){10}, 1, 1);
    for (u32 i = 0; i < 10000; i++) {
        cd_counter_add(own, 1);
        cd_counter_add(both, 2);
        cd_hist_add(h, i);
    }
}

static void test_threads(void **state)
{
    (void)state;
    cd_metrics *m = cd_metrics_new("");
    worker w[3];
    cd_thread t[3];
    cd_buf out = {0};
    for (u32 i = 0; i < 3; i++) {
        w[i] = (worker){.m = m, .name = {(char)('a' + i)}};
        assert_int_equal(cd_thread_start(&t[i], "w", worker_main, &w[i], NULL), CD_OK);
    }
    for (u32 i = 0; i < 100; i++) {
        cd_buf_clear(&out);
        cd_metrics_fmt(m, &out);
    }
    for (u32 i = 0; i < 3; i++) {
        cd_thread_join(&t[i]);
    }
    assert_int_equal(cd_counter_get(cd_metrics_counter(m, "both", "", NULL, 0)), 60000);
    cd_buf_clear(&out);
    cd_metrics_fmt(m, &out);
    assert_non_null(strstr(cd_buf_cstr(&out), "own{worker=\"c\"} 10000\n"));
    assert_non_null(strstr(cd_buf_cstr(&out), "h_count 30000\n"));
    cd_buf_fini(&out);
    cd_metrics_free(m);
}

/* Metrics of a part stand in the whole's text, in order and with the part's label, and vanish with the part. */
static void test_parts(void **state)
{
    (void)state;
    const cd_label chain = {"chain", "B"};
    const cd_label share = {"share", "tries"};
    cd_buf out = {0};
    cd_metrics *m = cd_metrics_new("x");
    cd_metrics *plain = cd_metrics_part_new(m, NULL);
    cd_metrics *other = cd_metrics_part_new(m, &chain);
    cd_gauge_set(cd_metrics_gauge(m, "up", "One", NULL, 0), 1);
    cd_gauge_set(cd_metrics_gauge(plain, "bytes", "Two", &share, 1), 2);
    cd_gauge_set(cd_metrics_gauge(other, "bytes", "Two", &share, 1), 3);
    cd_gauge_set(cd_metrics_gauge(other, "head", "Three", NULL, 0), 4);
    assert_ptr_equal(cd_metrics_gauge(other, "head", "Three", NULL, 0), cd_metrics_gauge(other, "head", "", NULL, 0));
    cd_metrics_fmt(m, &out);
    assert_string_equal(cd_buf_cstr(&out), "# HELP x_bytes Two\n# TYPE x_bytes gauge\n"
                                           "x_bytes{chain=\"B\",share=\"tries\"} 3\nx_bytes{share=\"tries\"} 2\n"
                                           "# HELP x_head Three\n# TYPE x_head gauge\nx_head{chain=\"B\"} 4\n"
                                           "# HELP x_up One\n# TYPE x_up gauge\nx_up 1\n");
    cd_metrics_free(other);
    cd_buf_clear(&out);
    cd_metrics_fmt(m, &out);
    assert_null(strstr(cd_buf_cstr(&out), "chain"));
    assert_non_null(strstr(cd_buf_cstr(&out), "x_bytes{share=\"tries\"} 2\n"));
    cd_metrics_free(plain);
    cd_metrics_free(m);
    cd_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
