# The program as a user runs it, driven over HTTP. `e2e/ethers` brings its npm packages into build/e2e.
foreach(suite ethers http trace process kill)
  add_test(NAME e2e/${suite}
           COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.py --bin $<TARGET_FILE:candela> ${suite})
  set_tests_properties(e2e/${suite} PROPERTIES LABELS e2e TIMEOUT 900)
endforeach()
set_tests_properties(e2e/kill PROPERTIES TIMEOUT 3600)
