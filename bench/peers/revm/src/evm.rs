//! Interpreter workloads [spec:bench#1]: the top-level message call alone is timed.

use std::convert::Infallible;
use std::time::Duration;

use revm::bytecode::Bytecode;
use revm::context::result::{EVMError, InvalidTransaction};
use revm::context::{BlockEnv, CfgEnv, Context, ContextTr, JournalTr, LocalContextTr, TxEnv};
use revm::database_interface::Database;
use revm::handler::{EthFrame, FrameResult, Handler, MainnetContext, MainnetEvm, MainnetHandler};
use revm::interpreter::GasTracker;
use revm::primitives::{address, hardfork::SpecId, keccak256, Address, Bytes, TxKind, B256, U256};
use revm::state::AccountInfo;
use revm::MainBuilder;
use serde::Deserialize;
use serde_json::json;

use crate::measure::measure;
use crate::roots::{logs_hash, state_root};
use crate::{parse_args, parse_min_ms, Failure};

const CALLER: Address = address!("a94f5374fce5edbc8e2a8697c15331677e6ebf0b");
const CALLEE: Address = address!("be7c43a580000000000000000000000000000001");
const COINBASE: Address = address!("c0ffee0000000000000000000000000000000001");

#[derive(Deserialize)]
struct Workload {
    name: String,
    fork: String,
    gas: u64,
    code: Bytes,
    input: Bytes,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    status: String,
    gas_used: u64,
    refund: i64,
    logs: usize,
    logs_hash: B256,
    #[serde(default)]
    output: Bytes,
    output_keccak: Option<B256>,
    state_root: B256,
}

/// The two accounts the workloads start from; every slot is zero and blockhash(n) = n.
struct StartState {
    callee: AccountInfo,
}

impl Database for StartState {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        Ok(match address {
            CALLER => Some(AccountInfo::from_balance(U256::ONE << 120)),
            CALLEE => Some(self.callee.clone()),
            _ => None,
        })
    }

    fn code_by_hash(&mut self, _: B256) -> Result<Bytecode, Infallible> {
        Ok(self.callee.code.clone().unwrap_or_default())
    }

    fn storage(&mut self, _: Address, _: U256) -> Result<U256, Infallible> {
        Ok(U256::ZERO)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        Ok(B256::from(U256::from(number)))
    }
}

type Ctx = MainnetContext<StartState>;
type Evm = MainnetEvm<Ctx>;
type EvmError = EVMError<Infallible, InvalidTransaction>;
type TopHandler = MainnetHandler<Evm, EvmError, EthFrame>;

/// A journal loaded as at the start of a transaction's execution, and the result of the last call.
struct World {
    evm: Evm,
    handler: TopHandler,
    gas: GasTracker,
    result: Option<FrameResult>,
}

pub fn run(args: &[String]) -> Result<(), Failure> {
    let (dirs, [only, min_ms]) = parse_args(args, ["--only", "--min-ms"])?;
    let [dir] = dirs.as_slice() else {
        return Err("evm: one folder expected".into());
    };
    let min_total = parse_min_ms(&min_ms)?;
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .map_err(|e| format!("{dir}: {e}"))?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|x| x == "json"))
        .collect();
    files.sort();
    let mut ran = false;
    for file in files {
        let text = std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let load: Workload =
            serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        if load.name.contains(only.as_deref().unwrap_or("")) {
            bench(&load, min_total).map_err(|why| format!("{}: {why}", load.name))?;
            ran = true;
        }
    }
    if ran {
        Ok(())
    } else {
        Err("evm: no workload found".into())
    }
}

fn bench(load: &Workload, min_total: Duration) -> Result<(), Failure> {
    let mut world = World::new(load)?;
    let base = world.evm.ctx.journal_mut().checkpoint();
    let mut used = false;
    let prepare = |world: &mut World| {
        if used {
            world.evm.ctx.journal_mut().checkpoint_revert(base);
            world.evm.ctx.local_mut().clear();
            world.evm.frame_stack.clear();
            world.result = None;
            world.evm.ctx.journal_mut().checkpoint();
        }
        used = true;
        world.gas = GasTracker::new(load.gas, load.gas, 0);
        // `execution` settles the checkpoint that pre-execution opens.
        world.evm.ctx.journal_mut().checkpoint()
    };
    let timing = measure(&mut world, min_total, prepare, |world, checkpoint| {
        let done = world
            .handler
            .execution(&mut world.evm, checkpoint, &mut world.gas);
        world.result = done.map_err(|e| e.to_string())?;
        Ok(())
    })?;
    let gas = world.verify(load)?;
    let ns = timing.best.as_nanos().max(1) as u64;
    println!(
        "{}",
        json!({
            "bench": "evm", "name": load.name, "impl": "revm", "ns": ns,
            "first_ns": timing.first.as_nanos() as u64, "gas": gas,
            "mgas_s": gas as f64 * 1e3 / ns as f64, "iters": timing.iters,
        })
    );
    Ok(())
}

impl World {
    fn new(load: &Workload) -> Result<World, Failure> {
        if load.fork != "cancun" {
            return Err(format!("unknown fork {:?}", load.fork));
        }
        let code = Bytecode::new_legacy(load.code.clone());
        let callee = AccountInfo {
            nonce: 1,
            ..AccountInfo::from_bytecode(code)
        };
        let mut block = BlockEnv {
            number: U256::ONE,
            beneficiary: COINBASE,
            timestamp: U256::from(1000),
            gas_limit: 1_000_000_000,
            basefee: 1,
            prevrandao: Some(B256::from(U256::ONE)),
            ..BlockEnv::default()
        };
        let cfg = CfgEnv::new_with_spec(SpecId::CANCUN);
        block.set_blob_excess_gas_and_price(0, cfg.blob_base_fee_update_fraction());
        let tx = TxEnv {
            caller: CALLER,
            kind: TxKind::Call(CALLEE),
            data: load.input.clone(),
            gas_limit: load.gas,
            gas_price: 1,
            ..TxEnv::default()
        };
        let mut ctx: Ctx = Context::new(StartState { callee }, SpecId::CANCUN);
        ctx.cfg = cfg;
        ctx.block = block;
        ctx.tx = tx;
        let mut evm = ctx.build_mainnet();
        let handler = TopHandler::default();
        // As pre-execution does: precompiles and coinbase warm, then caller and callee loaded.
        handler
            .load_accounts(&mut evm)
            .map_err(|e: EvmError| e.to_string())?;
        for account in [CALLER, CALLEE] {
            let loaded = evm.ctx.journal_mut().load_account_with_code(account);
            loaded.map_err(|e| e.to_string())?;
        }
        Ok(World {
            evm,
            handler,
            gas: GasTracker::new(load.gas, load.gas, 0),
            result: None,
        })
    }

    /// Compares everything the last repetition left behind with the expectation; gives the gas used.
    fn verify(&mut self, load: &Workload) -> Result<u64, Failure> {
        let want = &load.expect;
        let result = self
            .result
            .take()
            .ok_or("ran out of gas before the first frame")?;
        let outcome = result.instruction_result();
        let status = match () {
            _ if outcome.is_ok() => "ok",
            _ if outcome.is_revert() => "revert",
            _ => "halt",
        };
        if want.status.split(':').next() != Some(status) {
            return Err(format!("status {outcome:?}, want {:?}", want.status));
        }
        let used = load.gas - result.gas().remaining();
        if used != want.gas_used || result.gas().refunded() != want.refund {
            let refund = result.gas().refunded();
            return Err(format!(
                "gas used {used} refund {refund}, want {} and {}",
                want.gas_used, want.refund
            ));
        }
        let output = result.output().into_data();
        let same = match want.output_keccak {
            Some(hash) => keccak256(&output) == hash,
            None => output == want.output,
        };
        if !same {
            return Err(format!("output {output}, want {}", want.output));
        }
        let journal = self.evm.ctx.journal_mut();
        let logs = journal.logs();
        if logs.len() != want.logs || logs_hash(logs) != want.logs_hash {
            return Err(format!("{} logs, hash {}", logs.len(), logs_hash(logs)));
        }
        let live = journal
            .inner
            .state
            .iter()
            .filter(|(_, a)| !a.info.is_empty());
        let root = state_root(live.map(|(address, account)| {
            let slots = account
                .storage
                .iter()
                .map(|(k, slot)| (*k, slot.present_value));
            (*address, &account.info, slots)
        }));
        if root != want.state_root {
            return Err(format!("state root {root}, want {}", want.state_root));
        }
        Ok(used)
    }
}
