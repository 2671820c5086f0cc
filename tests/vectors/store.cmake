cd_vector_test(trie DEPS store codec)
include(${CMAKE_CURRENT_LIST_DIR}/../e2e/store_kill.cmake)
