/* bench-deliveries - deliveries to receivers on loopback, beside bare POSTs by the same HTTP client.
 *
 *   bench-deliveries post [--seconds 5] [--connections 64]
 *
 * Prints one JSON line: {"name", "per_s", "cpu_us"}, the processor time of this process alone. [spec:webhooks#10] */
#include "bench/load/webhook_sink.h"

#include "base/clock.h"
#include "base/mem.h"
#include "net/http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static const char body[] =
    "{\"id\":\"evt_z9y8x7w6v5u5\",\"event_type\":\"token_transfer\",\"webhook_id\":\"wh_"
    "a1b2c3d4e5f6\",\"created_at\":"
    "\"2026-01-15T10:35:22Z\",\"data\":{\"chain\":\"lux\",\"block_number\":20574336,\"tx_hash\":"
    "\"0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c\",\"contract\":"
    "\"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48\",\"from\":"
    "\"0x71c7656ec7ab88b098defb751b7401b5f6d8976f\",\"to\":"
    "\"0xd8da6bf26964af9d7eed9e03e53415d37aa96045\",\"value\":\"50000000000\",\"symbol\":\"USDC\","
    "\"decimals\":6}}";

static double cpu_s(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

typedef struct load {
    cd_loop *loop;
    cd_http_client *client;
    char url[100];
    u64 until_ns;
    u64 done;
    u32 running;
} load;

static void post(load *l);

static void on_answer(void *ctx, const cd_http_result *r)
{
    load *l = ctx;
    l->running--;
    if (r->status != 200) {
        (void)fprintf(stderr, "a POST failed: %s\n", r->reason);
        exit(1);
    }
    l->done++;
    if (cd_clock_mono_ns(cd_clock_real()) < l->until_ns) {
        post(l);
    } else if (l->running == 0) {
        cd_loop_stop(l->loop);
    }
}

static void post(load *l)
{
    static const char *const headers[] = {"Content-Type: application/json"};
    const cd_http_ask ask = {
        .method = CD_HTTP_POST,
        .url = l->url,
        .headers = headers,
        .headers_cnt = 1,
        .body = cd_bytes_of(body, sizeof body - 1),
        .timeout_ms = 15000,
    };
    l->running++;
    (void)cd_http_client_call(l->client, &ask, on_answer, l);
}

int main(int argc, char **argv)
{
    u32 seconds = argc > 2 ? (u32)strtoul(argv[2], NULL, 10) : 3;
    u32 conns = argc > 3 ? (u32)strtoul(argv[3], NULL, 10) : 64;
    webhook_sink *sink = webhook_sink_start();
    load l = {0};
    cd_errinfo why = {0};
    const cd_http_client_cfg cfg = {.conns_max = conns, .host_conns_max = conns};
    if (cd_loop_new(&l.loop, &why) != CD_OK ||
        cd_http_client_new(&l.client, l.loop, &cfg, &why) != CD_OK) {
        (void)fprintf(stderr, "%s\n", why.msg);
        return 1;
    }
    (void)snprintf(l.url, sizeof l.url, "http://127.0.0.1:%u/hook", sink->port);
    u64 begin = cd_clock_mono_ns(cd_clock_real());
    double cpu = cpu_s();
    l.until_ns = begin + seconds * CD_NS_PER_SEC;
    for (u32 i = 0; i < conns; i++) {
        post(&l);
    }
    cd_loop_run(l.loop);
    double took = (double)(cd_clock_mono_ns(cd_clock_real()) - begin) / 1e9;
    (void)printf("{\"name\":\"post\",\"per_s\":%.0f,\"cpu_us\":%.2f}\n", (double)l.done / took,
                 (cpu_s() - cpu) * 1e6 / (double)l.done);
    cd_http_client_free(l.client);
    cd_loop_free(l.loop);
    webhook_sink_stop(sink);
    return 0;
}
