//! State roots and log hashes, computed with alloy-trie.

use alloy_rlp::Encodable;
use alloy_trie::{root::storage_root_unhashed, HashBuilder, Nibbles, TrieAccount};
use revm::primitives::{keccak256, Address, Log, B256, U256};
use revm::state::AccountInfo;

/// Root of the state made of `accounts` and their storage; slots with value zero do not exist.
pub fn state_root<'a, S>(accounts: impl Iterator<Item = (Address, &'a AccountInfo, S)>) -> B256
where
    S: Iterator<Item = (U256, U256)>,
{
    let mut leaves: Vec<(B256, TrieAccount)> = accounts
        .map(|(address, info, slots)| {
            let set = slots
                .filter(|(_, v)| !v.is_zero())
                .map(|(k, v)| (B256::from(k), v));
            let account = TrieAccount {
                nonce: info.nonce,
                balance: info.balance,
                storage_root: storage_root_unhashed(set),
                code_hash: info.code_hash,
            };
            (keccak256(address), account)
        })
        .collect();
    leaves.sort_unstable_by_key(|(key, _)| *key);
    let mut builder = HashBuilder::default();
    let mut value = Vec::new();
    for (key, account) in &leaves {
        value.clear();
        account.encode(&mut value);
        builder.add_leaf(Nibbles::unpack(key), &value);
    }
    builder.root()
}

/// keccak256 of the RLP list of `logs`.
pub fn logs_hash(logs: &[Log]) -> B256 {
    let mut list = Vec::new();
    alloy_rlp::encode_list::<Log, Log>(logs, &mut list);
    keccak256(list)
}
