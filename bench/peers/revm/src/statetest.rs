//! State tests: one JSON line per case with the post root and logs hash this implementation computes.

use std::io::{BufRead, BufWriter, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};

use revm::context::{CfgEnv, Context};
use revm::database::{CacheState, State};
use revm::primitives::{hardfork::SpecId, B256, U256};
use revm::statetest_types::{SpecName, Test, TestSuite, TestUnit};
use revm::{ExecuteCommitEvm, MainBuilder, MainContext};
use serde_json::json;

use crate::roots::{logs_hash, state_root};
use crate::Failure;

/// What running one transaction gave; `error` says why it was invalid and is empty otherwise.
struct Outcome {
    root: B256,
    logs: B256,
    gas: u64,
    error: String,
}

pub fn run(args: &[String]) -> Result<(), Failure> {
    if args.is_empty() {
        return Err("statetest: no file given".into());
    }
    // A panic of the library is reported in the line of its case.
    std::panic::set_hook(Box::new(|_| {}));
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args[0] != "-" {
        for file in args {
            run_file(&mut out, file)?;
        }
        return out.flush().map_err(|e| e.to_string());
    }
    for line in std::io::stdin().lock().lines() {
        let file = line.map_err(|e| e.to_string())?;
        if let Err(why) = run_file(&mut out, &file) {
            eprintln!("peer-revm: {why}");
        }
        writeln!(out)
            .and_then(|()| out.flush())
            .map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn run_file(out: &mut impl Write, file: &str) -> Result<(), Failure> {
    let text = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let suite: TestSuite = serde_json::from_slice(&text).map_err(|e| format!("{file}: {e}"))?;
    for (name, unit) in &suite.0 {
        let start = unit.state();
        for (fork, cases) in &unit.post {
            if matches!(fork, SpecName::Unknown | SpecName::Constantinople) {
                continue;
            }
            for (index, case) in cases.iter().enumerate() {
                let run = || run_case(unit, &start, fork.to_spec_id(), case);
                let got = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|caught| Outcome {
                    root: B256::ZERO,
                    logs: B256::ZERO,
                    gas: 0,
                    error: format!("panic: {}", panic_text(caught.as_ref())),
                });
                let refused = !got.error.is_empty();
                let pass = match case.expect_exception {
                    Some(_) => refused && got.root == case.hash,
                    None => !refused && got.root == case.hash && got.logs == case.logs,
                };
                let line = json!({
                    "name": name, "fork": format!("{fork:?}"), "index": index, "pass": pass,
                    "root": got.root, "logs": got.logs, "gas": got.gas, "error": got.error,
                });
                writeln!(out, "{line}").map_err(|e| e.to_string())?;
            }
        }
    }
    Ok(())
}

fn panic_text(caught: &(dyn std::any::Any + Send)) -> &str {
    match (
        caught.downcast_ref::<&str>(),
        caught.downcast_ref::<String>(),
    ) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "unknown",
    }
}

/// Runs one transaction on a copy of `start`; an invalid one leaves the state as it was.
fn run_case(unit: &TestUnit, start: &CacheState, spec: SpecId, case: &Test) -> Outcome {
    let mut cfg = CfgEnv::new_with_spec(spec);
    let chain_id = unit.env.current_chain_id.unwrap_or(U256::ONE);
    cfg.chain_id = chain_id.try_into().unwrap_or(1);
    cfg.set_max_blobs_per_tx(if spec == SpecId::PRAGUE { 9 } else { 6 });
    let block = unit.block_env(&mut cfg);
    let mut state = State::builder()
        .with_cached_prestate(start.clone())
        .with_bundle_update()
        .build();
    let (logs, gas, error) = match case.tx_env(unit) {
        Err(why) => (logs_hash(&[]), 0, why.to_string()),
        Ok(tx) => {
            let ctx = Context::mainnet()
                .with_db(&mut state)
                .with_cfg(cfg)
                .with_block(block);
            match ctx.build_mainnet().transact_commit(tx) {
                Ok(done) => (logs_hash(done.logs()), done.tx_gas_used(), String::new()),
                Err(why) => (logs_hash(&[]), 0, why.to_string()),
            }
        }
    };
    let accounts = state.cache.trie_account().into_iter();
    let root = state_root(accounts.map(|(address, account)| {
        let slots = account.storage.iter().map(|(k, v)| (*k, *v));
        (address, &account.info, slots)
    }));
    Outcome {
        root,
        logs,
        gas,
        error,
    }
}
