cd_vector_test(trie DEPS store codec)
