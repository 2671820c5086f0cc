"""A web3.py client that listens: filters over HTTP, subscriptions over WebSocket."""
import asyncio
import time

from web3 import AsyncWeb3, WebSocketProvider
from web3.middleware import ExtraDataToPOAMiddleware
from web3.utils.subscriptions import LogsSubscription, NewHeadsSubscription, PendingTxSubscription

from web3_kit import bob, carol, check, deploy, finish, mined, url, w3

WAIT_S = 10

beacon = deploy("Beacon")


@check
def filters_give_what_is_new():
    blocks, flashes = w3.eth.filter("latest"), beacon.events.Flash().create_filter(from_block="latest")
    receipt = mined(beacon.functions.blink(2).transact({"from": bob}))
    assert blocks.get_new_entries() == [receipt.blockHash]
    assert [f.args["by"] for f in flashes.get_new_entries()] == [bob, bob]
    assert flashes.get_new_entries() == []
    assert w3.eth.uninstall_filter(blocks.filter_id)


@check
def subscriptions_over_websocket():
    seen = {"heads": [], "logs": [], "hashes": []}

    def into(name):
        async def handler(context):
            seen[name].append(context.result)
        return handler

    async def listen():
        async with AsyncWeb3(WebSocketProvider(url.replace("http", "ws"))) as live:
            live.middleware_onion.inject(ExtraDataToPOAMiddleware, layer=0)
            assert await live.eth.chain_id == 1337
            await live.subscription_manager.subscribe([
                NewHeadsSubscription(handler=into("heads")),
                PendingTxSubscription(handler=into("hashes")),
                LogsSubscription(address=beacon.address, handler=into("logs")),
            ])
            reading = asyncio.create_task(live.subscription_manager.handle_subscriptions(run_forever=True))
            abi = live.eth.contract(beacon.address, abi=beacon.abi)
            tx = await abi.functions.blink(2).transact({"from": carol})
            deadline = time.monotonic() + WAIT_S
            while time.monotonic() < deadline and not (seen["heads"] and seen["hashes"] and len(seen["logs"]) == 4):
                await asyncio.sleep(0.01)
            reading.cancel()
            assert (len(seen["heads"]), len(seen["logs"]), seen["hashes"]) == (1, 4, [tx])

    asyncio.run(listen())


finish()
