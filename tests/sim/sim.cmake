# Whole nodes in a virtual world.
add_executable(sim_evm_node ${CMAKE_CURRENT_SOURCE_DIR}/sim/evm_node.c)
set_target_properties(sim_evm_node PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
target_compile_options(sim_evm_node PRIVATE ${CD_WARNINGS} ${CD_CFLAGS})
target_link_options(sim_evm_node PRIVATE ${CD_LDFLAGS})
target_link_libraries(sim_evm_node PRIVATE cd_node cd_chains_evmchain cmocka)
add_test(NAME sim/evm-node COMMAND sim_evm_node)
set_tests_properties(sim/evm-node PROPERTIES LABELS unit TIMEOUT 300)

# Networks in virtual worlds: scenarios, and worlds made up by seeds.
add_executable(sim_worlds ${CMAKE_CURRENT_SOURCE_DIR}/sim/worlds.c)
set_target_properties(sim_worlds PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
target_compile_options(sim_worlds PRIVATE ${CD_WARNINGS} ${CD_CFLAGS})
target_link_options(sim_worlds PRIVATE ${CD_LDFLAGS})
target_link_libraries(sim_worlds PRIVATE cd_sim)
add_test(NAME sim/worlds COMMAND sim_worlds ${CMAKE_CURRENT_SOURCE_DIR}/sim/scenarios)
set_tests_properties(sim/worlds PROPERTIES LABELS "unit;lib-sim" TIMEOUT 14400)
add_dependencies(tests_sim sim_worlds)

# What the diagnosis of an L1 says of the scenarios in which L1s halt, at each moment of them.
add_executable(sim_l1_worlds ${CMAKE_CURRENT_SOURCE_DIR}/sim/l1_worlds.c)
set_target_properties(sim_l1_worlds PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
target_compile_options(sim_l1_worlds PRIVATE ${CD_WARNINGS} ${CD_CFLAGS})
target_link_options(sim_l1_worlds PRIVATE ${CD_LDFLAGS})
target_link_libraries(sim_l1_worlds PRIVATE cd_sim cd_chains_platform_l1)
add_test(NAME sim/l1_worlds COMMAND sim_l1_worlds ${CMAKE_CURRENT_SOURCE_DIR}/sim/scenarios)
set_tests_properties(sim/l1_worlds PROPERTIES LABELS "unit;lib-chains-platform-l1")
add_dependencies(tests_sim sim_l1_worlds)
