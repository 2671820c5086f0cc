"""A web3.py client as a user writes it, over HTTP."""
import time

import rlp
from eth_account import Account
from eth_account.messages import encode_defunct
from trie import HexaryTrie
from web3.exceptions import (ContractCustomError, ContractLogicError, ContractPanicError, TransactionNotFound,
                             Web3RPCError)
from web3.middleware import SignAndSendRawMiddlewareBuilder

from web3_kit import alice, bob, carol, check, connect, deploy, fails, finish, mined, w3

KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"

token = deploy("Token", 1_000_000)
beacon = deploy("Beacon")


@check
def the_chain_answers():
    assert w3.is_connected()
    assert (w3.eth.chain_id, w3.net.version, w3.net.listening) == (1337, "1337", True)
    assert "candela" in w3.client_version
    assert w3.eth.get_balance(carol) == w3.to_wei(10_000, "ether")
    assert w3.eth.syncing is False
    head = w3.eth.get_block("latest", full_transactions=True)
    assert head.number == w3.eth.block_number == 2 and head.transactions[0]["from"] == alice
    assert w3.eth.get_block(head.hash).hash == head.hash
    assert w3.eth.get_block_receipts("latest")[0].blockHash == head.hash
    assert w3.eth.max_priority_fee >= 0 and w3.eth.gas_price > 0
    assert len(w3.eth.fee_history(2, "latest", [10.0, 50.0]).reward) == 2


@check
def contracts_are_used_and_events_decoded():
    receipt = mined(token.functions.transfer(bob, 25).transact({"from": alice}))
    event, = token.events.Transfer().process_receipt(receipt)
    assert dict(event.args) == {"from": alice, "to": bob, "value": 25}
    assert token.functions.balanceOf(bob).call() == 25
    assert token.functions.balanceOf(bob).call(block_identifier=receipt.blockNumber - 1) == 0
    mined(beacon.functions.blink(3).transact({"from": carol}))
    flashes = beacon.events.Flash().get_logs(from_block=0, argument_filters={"by": carol})
    assert [f.args.turn for f in flashes] == [0, 1, 2]


@check
def failures_are_told_by_name():
    assert "seven is not allowed" in str(fails(ContractLogicError, beacon.functions.shine(7).call))
    assert fails(ContractCustomError, beacon.functions.shine(101).call).data.endswith(f"{101:064x}{100:064x}")
    fails(ContractPanicError, beacon.functions.shine(0).call)
    fails(TransactionNotFound, lambda: w3.eth.get_transaction("0x" + "11" * 32))
    e = fails(Web3RPCError, lambda: w3.eth.send_transaction({"from": alice, "to": bob, "value": 10**30, "gas": 21000}))
    assert "insufficient funds" in e.message


@check
def middlewares_sign_and_read():
    own = Account.create()
    mined(w3.eth.send_transaction({"from": alice, "to": own.address, "value": w3.to_wei(1, "ether")}))
    local = connect()
    local.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(own), layer=0)
    local.eth.default_account = own.address
    receipt = mined(local.eth.send_transaction({"to": bob, "value": 7}))
    assert receipt["from"] == own.address
    assert local.eth.get_block("latest").number == receipt.blockNumber
    signed = Account.sign_transaction(
        {"chainId": 1337, "nonce": 1, "to": bob, "value": 1, "gas": 21000, "gasPrice": w3.eth.gas_price * 2}, own.key)
    assert mined(w3.eth.send_raw_transaction(signed.raw_transaction)).transactionHash == signed.hash
    assert w3.eth.get_transaction_count(own.address) == 2


@check
def calls_go_in_a_batch_and_run_on_a_changed_state():
    with w3.batch_requests() as batch:
        batch.add(w3.eth.get_block(0))
        batch.add(w3.eth.get_balance(carol))
        batch.add(token.functions.totalSupply())
        block, balance, supply = batch.execute()
    assert (block.number, supply) == (0, 1_000_000) and balance > 0
    code = w3.eth.get_code(beacon.address).to_0x_hex()
    turns = {carol: {"code": code, "stateDiff": {"0x" + "00" * 32: f"0x{9:064x}"}}}
    data = w3.eth.call({"to": carol, "data": beacon.encode_abi("turns")}, "latest", turns)
    assert int(data.hex(), 16) == 9
    assert w3.eth.estimate_gas({"from": alice, "to": bob, "value": 1}) == 21000
    transfer = token.encode_abi("transfer", [bob, 1])
    listed = w3.eth.create_access_list({"from": alice, "to": token.address, "data": transfer})
    assert len(listed.accessList[0].storageKeys) == 2


@check
def the_node_signs():
    assert w3.eth.sign(alice, text="light") == Account.sign_message(encode_defunct(text="light"), KEY).signature


@check
def proofs_lead_to_the_state_root():
    block = w3.eth.get_block("latest")
    proof = w3.eth.get_proof(token.address, [2], block.number)

    def prove(root, key, nodes):
        return HexaryTrie.get_from_proof(root, w3.keccak(key), [rlp.decode(bytes(n)) for n in nodes])

    nonce, _, storage, code = rlp.decode(prove(block.stateRoot, bytes.fromhex(token.address[2:]), proof.accountProof))
    assert (nonce, storage, code) == (b"\1", bytes(proof.storageHash), bytes(w3.keccak(w3.eth.get_code(token.address))))
    slot = prove(proof.storageHash, (2).to_bytes(32, "big"), proof.storageProof[0].proof)
    assert int.from_bytes(rlp.decode(slot), "big") == 1_000_000
    assert int.from_bytes(w3.eth.get_storage_at(token.address, 2), "big") == 1_000_000


@check
def traces_show_the_calls():
    tx = mined(beacon.functions.blink(1).transact({"from": alice})).transactionHash.to_0x_hex()
    ask = w3.provider.make_request
    assert ask("debug_traceTransaction", [tx, {"tracer": "callTracer"}])["result"]["type"] == "CALL"
    steps = w3.manager.request_blocking("debug_traceTransaction", [tx])
    assert steps["failed"] is False and steps["structLogs"][0]["pc"] == 0


@check
def time_travels_and_snapshots_return():
    ask = w3.manager.request_blocking
    snapshot, height = ask("evm_snapshot", []), w3.eth.block_number
    ask("evm_increaseTime", [86400])
    ask("evm_mine", [])
    assert w3.eth.get_block("latest").timestamp >= int(time.time()) + 86400 - 1
    assert ask("evm_revert", [snapshot]) is True
    assert w3.eth.block_number == height


finish()
