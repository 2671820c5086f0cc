//! Root of N sorted keys with alloy-trie's hash builder: the `stacktrie` step of [spec:bench#3].

use std::collections::HashMap;
use std::time::Duration;

use alloy_rlp::Encodable;
use alloy_trie::{HashBuilder, Nibbles, TrieAccount, EMPTY_ROOT_HASH, KECCAK_EMPTY};
use revm::primitives::{keccak256, B256, U256};
use serde::Deserialize;
use serde_json::json;

use crate::measure::measure;
use crate::{parse_args, Failure};

/// meta/trie-roots.json, as far as it is needed here.
#[derive(Deserialize, Default)]
struct Expected {
    roots: HashMap<String, ExpectedRoots>,
}

#[derive(Deserialize)]
struct ExpectedRoots {
    root: B256,
}

pub fn run(args: &[String]) -> Result<(), Failure> {
    let (sizes, [roots]) = parse_args(args, ["--roots"])?;
    if sizes.is_empty() {
        return Err("trie: no size given".into());
    }
    let expected: Expected = match roots {
        Some(file) => {
            let text = std::fs::read(&file).map_err(|e| format!("{file}: {e}"))?;
            serde_json::from_slice(&text).map_err(|e| format!("{file}: {e}"))?
        }
        None => Expected::default(),
    };
    for size in &sizes {
        let n: u64 = size
            .parse()
            .ok()
            .filter(|&n| n > 0)
            .ok_or(format!("bad size {size}"))?;
        bench(n, expected.roots.get(size).map(|r| r.root))?;
    }
    Ok(())
}

fn leaf(i: u64) -> (B256, Vec<u8>) {
    let account = TrieAccount {
        nonce: i,
        balance: U256::from(i) * U256::from(1_000_000_000u64),
        storage_root: EMPTY_ROOT_HASH,
        code_hash: KECCAK_EMPTY,
    };
    let mut value = Vec::new();
    account.encode(&mut value);
    (keccak256(i.to_be_bytes()), value)
}

fn bench(n: u64, want: Option<B256>) -> Result<(), Failure> {
    let mut leaves: Vec<(B256, Vec<u8>)> = (0..n).map(leaf).collect();
    leaves.sort_unstable_by_key(|(key, _)| *key);
    let mut root = B256::ZERO;
    let timing = measure(
        &mut root,
        Duration::from_millis(120),
        |_| (),
        |root, ()| {
            let mut builder = HashBuilder::default();
            for (key, value) in &leaves {
                builder.add_leaf(Nibbles::unpack(key), value);
            }
            *root = builder.root();
            Ok(())
        },
    )?;
    if want.is_some_and(|want| want != root) {
        return Err(format!("trie {n}: root {root}, want {want:?}"));
    }
    println!(
        "{}",
        json!({
            "bench": "trie", "name": format!("stacktrie_{n}"), "impl": "revm", "n": n,
            "ns_per_op": timing.best.as_nanos() as f64 / n as f64, "iters": timing.iters, "root": root,
        })
    );
    Ok(())
}
