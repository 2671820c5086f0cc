cd_fuzz(node DEPS node chains_evmchain codec)

# Without libFuzzer: runs of our own making beside the corpus, the same ones every time.
if(NOT CD_FUZZ)
  add_executable(node_storm ${CMAKE_CURRENT_LIST_DIR}/node_fuzz.c ${CMAKE_CURRENT_LIST_DIR}/storm_main.c)
  set_target_properties(node_storm PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  target_compile_options(node_storm PRIVATE ${CD_WARNINGS} ${CD_CFLAGS})
  target_link_options(node_storm PRIVATE ${CD_LDFLAGS})
  target_link_libraries(node_storm PRIVATE cd_node cd_chains_evmchain cd_codec)
  add_test(NAME fuzz-storm/node COMMAND node_storm ${CMAKE_CURRENT_LIST_DIR}/corpus/node)
  set_tests_properties(fuzz-storm/node PROPERTIES LABELS "fuzz" TIMEOUT 3600)
endif()
