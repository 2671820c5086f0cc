# The program as a user runs it, driven over HTTP. Suites of clients bring their pinned packages into build/e2e, once.
foreach(suite ethers hardhat viem web3js web3py live wallet http trace feed dev process kill keystore admin)
  add_test(NAME e2e/${suite}
           COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.py --bin $<TARGET_FILE:candela> ${suite})
  set_tests_properties(e2e/${suite} PROPERTIES LABELS e2e TIMEOUT 900)
endforeach()
set_tests_properties(e2e/kill PROPERTIES TIMEOUT 3600)
