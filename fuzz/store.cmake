cd_fuzz(trie_ops DEPS store)
cd_fuzz(trie_proof DEPS store)
cd_fuzz(kv_batch DEPS store)
