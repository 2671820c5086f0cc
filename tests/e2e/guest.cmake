# candela-evm behind a node of the original (a Go module).
add_test(NAME e2e/guest COMMAND ${CMAKE_CURRENT_LIST_DIR}/guest/guest.py --plugin $<TARGET_FILE:candela-evm>
         --testdata ${CD_TESTDATA})
set_tests_properties(e2e/guest PROPERTIES LABELS e2e TIMEOUT 1800)
