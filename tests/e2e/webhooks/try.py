#!/usr/bin/env python3
"""candela-webhooks beside a development network with a receiver that prints, in the foreground, until Ctrl-C.

usage: tests/e2e/webhooks/try.py build/release/bin/candela build/release/bin/candela-webhooks
"""
import json
import queue
import signal
import sys

sys.dont_write_bytecode = True
import stack  # noqa: E402 - beside this file


def main():
    s = None
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        s = stack.Stack(sys.argv[1], sys.argv[2], port=None)
        sink = s.sink()
        s.make("b", url=sink.url, event_type="address_activity", config={"addresses": [stack.BOB]})
        print(f"""webhooks: dashboards and interfaces, with keys that may do anything:
  A  http://127.0.0.1:8091  Authorization: Bearer {s.keys["a"]}
  B  http://127.0.0.1:8092  X-API-Key: {s.keys["b"]}
  C  http://127.0.0.1:8093  X-API-Key: {s.keys["c"]}
a receiver at {sink.url} is told what happens to {stack.BOB}; let something happen:
  curl {s.node.url} -H 'content-type: application/json' -d '{{"jsonrpc":"2.0","id":1,"method":"eth_sendTransaction",'\\
  '"params":[{{"from":"{stack.ALICE}","to":"{stack.BOB}","value":"0x10"}}]}}'""", flush=True)
        while s.service.poll() is None:
            try:
                head, body = sink.take(1)
                print(f"delivered {head['x-svc-sequence']}: {json.dumps(json.loads(body)['data'])}", flush=True)
            except queue.Empty:
                continue
        return 1
    except KeyboardInterrupt:
        return 0
    except (AssertionError, OSError, queue.Empty) as e:
        print(f"error: webhooks did not start: {str(e).strip() or 'no answer in time'}", file=sys.stderr)
        return 1
    finally:
        if s is not None:
            s.close()


if __name__ == "__main__":
    sys.exit(main())
