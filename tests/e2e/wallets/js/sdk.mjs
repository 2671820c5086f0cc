// The JavaScript SDK of the upstream network, unchanged, against a node of ours: node sdk.mjs URL
// Prints a line a check, "ok NAME" or "FAIL NAME: reason".
import {
  Context, L1Validator, PChainOwner, TransferableOutput, addTxSignatures, avm, evm, info, networkIDs, pvm,
  pvmSerial, secp256k1, utils,
} from "@avalabs/avalanchejs";

const url = process.argv[2];
const KEY = "56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027"; // ewoq, whose money the network begins with
const ACCOUNT = "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC";
const TOKEN = 1_000_000_000n;
const WAIT_MS = 20;
const LIMIT_MS = 30_000;

const P = new pvm.PVMApi(url);
const X = new avm.AVMApi(url);
const C = new evm.EVMApi(url);
const I = new info.InfoApi(url);
const context = await Context.getContextFromURI(url);
const key = utils.hexToBuffer(KEY);
const address = (chain) => `${chain}-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u`;
const me = utils.bech32ToBytes(address("P"));
let failed = false;

async function check(name, run) {
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (e) {
    failed = true;
    console.log(`FAIL ${name}: ${e.message}`);
  }
}

function same(got, want, what) {
  if (got !== want) {
    throw new Error(`${what}: got ${got}, want ${want}`);
  }
}

const output = (amount) => TransferableOutput.fromNative(context.avaxAssetID, amount, [me]);

async function rpc(method, ...params) {
  const r = await fetch(`${url}/ext/bc/C/rpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return (await r.json()).result;
}

// until asks again until there is an answer.
async function until(ask) {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) {
      return answer;
    }
    if (Date.now() > end) {
      throw new Error("nothing comes of it");
    }
    await new Promise((done) => setTimeout(done, WAIT_MS));
  }
}

// issue signs and issues a transaction of a chain, and gives its ID when it is accepted.
async function issue(api, tx) {
  await addTxSignatures({ unsignedTx: tx, privateKeys: [key] });
  if (!tx.hasAllSignatures()) { // the owner of a network, of whom the SDK does not know, is the last to sign
    tx.addSignatureAt(await secp256k1.sign(tx.toBytes(), key), tx.getCredentials().length - 1, 0);
  }
  same(tx.hasAllSignatures(), true, "signatures");
  const { txID } = await api.issueSignedTx(tx.getSignedTx());
  await until(async () => {
    const { status, reason } = api === C ? await api.getAtomicTxStatus(txID) : await api.getTxStatus({ txID });
    if (status === "Dropped") {
      throw new Error(`dropped: ${reason}`);
    }
    return status === "Committed" || status === "Accepted" ? true : undefined;
  });
  return txID;
}

// common is what every builder of the P-Chain takes. Before the first block there is no capacity, as with the original,
// and the SDK would build nothing.
async function common() {
  const { utxos } = await P.getUTXOs({ addresses: [address("P")] });
  const state = await P.getFeeState();
  const capacity = state.capacity === 0n ? context.platformFeeConfig.maxCapacity : state.capacity;
  return { feeState: { ...state, capacity: BigInt(capacity) }, fromAddressesBytes: [me], utxos };
}

const build = async (name, props) => pvm[name]({ ...(await common()), ...props }, context);
const units = async (chain) => {
  if (chain === "C") {
    return BigInt(await rpc("eth_getBalance", ACCOUNT, "latest")) / 1_000_000_000n;
  }
  const ask = chain === "P" ? P.getBalance({ addresses: [address("P")] })
    : X.getBalance({ address: address("X"), assetID: context.avaxAssetID });
  return BigInt((await ask).balance);
};

await check("info", async () => {
  same(context.networkID, networkIDs.LocalID, "network");
  same((await I.getNodeVersion()).rpcProtocolVersion, "42", "protocol");
  same(utils.isEtnaEnabled(await I.getUpgradesInfo()), true, "etna");
  same((await I.peers()).numPeers, "0", "peers");
  same((await I.getVMs()) !== undefined, true, "VMs");
  same((await I.uptime()).rewardingStakePercentage, "100.0000", "uptime");
});

await check("reads of P and X", async () => {
  same((await P.getHeight()).height, "0", "height");
  const { validators } = await P.getCurrentValidators();
  same(validators.length, 5, "validators");
  same(BigInt((await P.getMinStake()).minValidatorStake), 2000n * TOKEN, "min stake");
  same((await P.getStakingAssetID({})).assetID, context.avaxAssetID, "asset");
  same((await P.getBlockchains()).blockchains.length, 2, "chains");
  same((await P.getSubnets({ ids: [] })).subnets.length, 1, "subnets");
  same((await P.sampleValidators({ size: 2 })).validators.length, 2, "sample");
  same((await P.getTotalStake(networkIDs.PrimaryNetworkID.toString())).weight !== undefined, true, "stake");
  same((await P.validates({ subnetID: networkIDs.PrimaryNetworkID.toString() })).blockchainIDs.length, 2, "validates");
  same((await P.getTxStatus({ txID: context.avaxAssetID })).status, "Unknown", "status");
  same((await P.getFeeConfig()).minPrice, 1n, "price");
  same((await X.getAllBalances({ address: address("X") })).balances.length, 1, "balances");
  same((await X.getTxFee()).txFee, 1_000_000n, "fee");
});

await check("transfers on P and X", async () => {
  await issue(P, await build("newBaseTx", { outputs: [output(3n * TOKEN)] }));
  const { utxos } = await X.getUTXOs({ addresses: [address("X")] });
  const id = await issue(X, avm.newBaseTx(context, [me], utxos, [output(3n * TOKEN)]));
  same((await X.getTx({ txID: id })).unsignedTx.getBlockchainId(), context.xBlockchainID, "chain");
});

const chains = { P: context.pBlockchainID, X: context.xBlockchainID, C: context.cBlockchainID };

async function exported(from, to, amount) {
  if (from === "P") {
    return issue(P, await build("newExportTx", { destinationChainId: chains[to], outputs: [output(amount)] }));
  }
  if (from === "X") {
    const { utxos } = await X.getUTXOs({ addresses: [address("X")] });
    return issue(X, avm.newExportTx(context, chains[to], [me], utxos, [output(amount)]));
  }
  const nonce = BigInt(await rpc("eth_getTransactionCount", ACCOUNT, "latest"));
  return issue(C, evm.newExportTxFromBaseFee(context, await C.getBaseFee(), amount, chains[to],
    utils.hexToBuffer(ACCOUNT), [me], nonce));
}

async function imported(from, to) {
  const api = { P, X, C }[to];
  const { utxos } = await api.getUTXOs({ addresses: [address(to)], sourceChain: chains[from] });
  same(utxos.length, 1, "UTXOs to be imported");
  if (to === "P") {
    const { feeState } = await common();
    return issue(P, pvm.newImportTx({
      feeState, fromAddressesBytes: [me], sourceChainId: chains[from], toAddressesBytes: [me], utxos,
    }, context));
  }
  if (to === "X") {
    return issue(X, avm.newImportTx(context, chains[from], utxos, [me], [me]));
  }
  return issue(C, evm.newImportTxFromBaseFee(context, utils.hexToBuffer(ACCOUNT), [me], utxos, chains[from],
    await C.getBaseFee()));
}

for (const [from, to] of ["PX", "PC", "XP", "XC", "CP", "CX"]) {
  await check(`from ${from} to ${to}`, async () => {
    const before = await units(to);
    await exported(from, to, 7n * TOKEN);
    await imported(from, to);
    const grown = (await units(to)) - before;
    same(grown > 6n * TOKEN && grown <= 7n * TOKEN, true, `${grown} came`);
  });
}

const hour = 3600n;
const now = () => BigInt(Math.floor(Date.now() / 1000));

await check("validator and delegator", async () => {
  const { nodeID, nodePOP } = await I.getNodeId();
  const end = now() + 30n * hour;
  const staking = {
    end, nodeId: nodeID, rewardAddresses: [me], start: 0n, subnetId: networkIDs.PrimaryNetworkID.toString(),
  };
  await issue(P, await build("newAddPermissionlessValidatorTx", {
    ...staking, delegatorRewardsOwner: [me], publicKey: utils.hexToBuffer(nodePOP.publicKey),
    signature: utils.hexToBuffer(nodePOP.proofOfPossession), shares: 20_000, weight: 2000n * TOKEN,
  }));
  await issue(P, await build("newAddPermissionlessDelegatorTx", { ...staking, weight: 25n * TOKEN }));
  const { validators } = await P.getCurrentValidators({ nodeIDs: [nodeID] });
  same(validators.length, 1, "validators");
  same(validators[0].delegators.length, 1, "delegators");
  same(BigInt((await P.getStake({ addresses: [address("P")] })).staked), 2025n * TOKEN, "stake");
});

await check("network, its validator, chain and conversion to an L1", async () => {
  const { nodeID, nodePOP } = await I.getNodeId();
  const subnetId = await issue(P, await build("newCreateSubnetTx", { subnetOwners: [me] }));
  const net = { subnetId, subnetAuth: [0] };
  const { isPermissioned, controlKeys } = await P.getSubnet({ subnetID: subnetId });
  same(isPermissioned, true, "permissioned");
  same(controlKeys[0], address("P"), "owner");
  await issue(P, await build("newAddSubnetValidatorTx", {
    ...net, nodeId: nodeID, start: 0n, end: now() + 25n * hour, weight: 20n,
  }));
  await issue(P, await build("newRemoveSubnetValidatorTx", { ...net, nodeId: nodeID }));
  await issue(P, await build("newTransferSubnetOwnershipTx", { ...net, subnetOwners: [me] }));
  const chainId = await issue(P, await build("newCreateChainTx", {
    ...net, chainName: "a chain", fxIds: [], genesisData: { a: 1 },
    vmId: "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy",
  }));
  same((await P.validatedBy({ blockchainID: chainId })).subnetID, subnetId, "validated by");
  const owner = PChainOwner.fromNative([me], 1);
  const pop = new pvmSerial.ProofOfPossession(utils.hexToBuffer(nodePOP.publicKey),
    utils.hexToBuffer(nodePOP.proofOfPossession));
  await issue(P, await build("newConvertSubnetToL1Tx", {
    ...net, chainId, address: utils.hexToBuffer("0xfeed"),
    validators: [L1Validator.fromNative(nodeID, 100n, TOKEN, pop, owner, owner)],
  }));
  const l1 = await P.getSubnet({ subnetID: subnetId });
  same(l1.isPermissioned, false, "permissioned");
  same(l1.managerChainID, chainId, "manager");
  const { validators } = await P.getCurrentValidators({ subnetID: subnetId });
  same(validators.length, 1, "validators");
  const { validationID } = validators[0];
  const before = (await P.getL1Validator(validationID)).balance;
  await issue(P, await build("newIncreaseL1ValidatorBalanceTx", { balance: TOKEN, validationId: validationID }));
  const after = (await P.getL1Validator(validationID)).balance;
  same(after > before && after <= 2n * TOKEN, true, `${before} became ${after}`);
  await issue(P, await build("newDisableL1ValidatorTx", { disableAuth: [0], validationId: validationID }));
  same((await P.getL1Validator(validationID)).balance, 0n, "balance at rest");
});

process.exit(failed ? 1 : 0);
