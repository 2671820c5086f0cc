# The program as a user runs it, driven over HTTP. Suites of clients bring their pinned packages into build/e2e, once.
foreach(suite ethers hardhat viem web3js web3py live wallet http trace feed dev process kill keystore admin chains contracts cli peers primary wallets transfers network money users plugin outside mixed record pages warp l1 l1_life finality signing relay model sync mixed_sync ipcs facts)
  add_test(NAME e2e/${suite}
           COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.py --bin $<TARGET_FILE:candela> ${suite})
  set_tests_properties(e2e/${suite} PROPERTIES LABELS e2e TIMEOUT 900)
endforeach()
set_tests_properties(e2e/kill e2e/plugin e2e/outside PROPERTIES TIMEOUT 3600)

# Where nothing is said the C-Chain's VM is a plugin; the same with it in the node's process.
foreach(suite primary money peers)
  add_test(NAME e2e/${suite}-inside
           COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.py --bin $<TARGET_FILE:candela> ${suite})
  set_tests_properties(e2e/${suite}-inside PROPERTIES LABELS e2e TIMEOUT 900 ENVIRONMENT CANDELA_EVM_IN_PROCESS=true)
endforeach()

# go-ethereum's own cases of a block's transition.
add_test(NAME e2e/t8n COMMAND ${CMAKE_CURRENT_LIST_DIR}/t8n.py --bin $<TARGET_FILE:candela-evmtool>)
set_tests_properties(e2e/t8n PROPERTIES LABELS e2e TIMEOUT 600)
set_tests_properties(e2e/wallets PROPERTIES TIMEOUT 2400) # the first run compiles the Go module
add_test(NAME e2e/deb COMMAND ${CMAKE_CURRENT_LIST_DIR}/deb.py --bin $<TARGET_FILE:candela>)
set_tests_properties(e2e/deb PROPERTIES LABELS e2e TIMEOUT 300)
set_tests_properties(e2e/wallets e2e/mixed e2e/warp PROPERTIES TIMEOUT 2400) # the first run compiles the Go module
set_tests_properties(e2e/mixed_sync PROPERTIES TIMEOUT 14400) # 20,000 blocks, with everything
