cd_fuzz(trie_ops DEPS store)
cd_fuzz(trie_proof DEPS store)
