# Dialogues of the X-Chain.
cd_vector_test(xvm DEPS chains_xvm vm_shared)
