# The gateway as its users run it, against a provider that fails on command.
add_test(NAME e2e/pricing
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.py --bin $<TARGET_FILE:candela-pricing> transcript behaviour package)
set_tests_properties(e2e/pricing PROPERTIES LABELS e2e TIMEOUT 300)
add_test(NAME e2e/pricing-full
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.py --full --bin $<TARGET_FILE:candela-pricing> behaviour)
set_tests_properties(e2e/pricing-full PROPERTIES LABELS "e2e;full" TIMEOUT 900)
add_test(NAME e2e/pricing-hour
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.py --hour --bin $<TARGET_FILE:candela-pricing> --only half_of behaviour)
set_tests_properties(e2e/pricing-hour PROPERTIES LABELS "e2e;full" TIMEOUT 4500)
add_test(NAME e2e/pricing-clients
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.py --bin $<TARGET_FILE:candela-pricing> clients)
set_tests_properties(e2e/pricing-clients PROPERTIES LABELS e2e TIMEOUT 900)
add_test(NAME e2e/pricing-clients-full
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.py --full --bin $<TARGET_FILE:candela-pricing> clients)
set_tests_properties(e2e/pricing-clients-full PROPERTIES LABELS "e2e;full" TIMEOUT 3600)
