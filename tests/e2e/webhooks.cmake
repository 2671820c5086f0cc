# Webhooks from a development network to receivers of public packages.
add_test(NAME e2e/webhooks
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/webhooks/run.py --node $<TARGET_FILE:candela>
                 --bin $<TARGET_FILE:candela-webhooks>)
# The service and its node killed at random under load: ten times, a thousand when CANDELA_TEST_FULL is 1.
add_test(NAME e2e/webhooks-kills
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/webhooks/run.py --node $<TARGET_FILE:candela>
                 --bin $<TARGET_FILE:candela-webhooks> kills)
# The interfaces as their clients meet them.
add_test(NAME e2e/webhooks-faces
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/webhooks/run.py --node $<TARGET_FILE:candela>
                 --bin $<TARGET_FILE:candela-webhooks> faces)
set_tests_properties(e2e/webhooks-faces PROPERTIES LABELS e2e TIMEOUT 300)
add_test(NAME e2e/webhooks-package
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/../pricing/run.py --bin $<TARGET_FILE:candela-webhooks> package)
foreach(suite kinds nodes mail)
  add_test(NAME e2e/webhooks-${suite}
           COMMAND ${CMAKE_CURRENT_LIST_DIR}/webhooks/run.py --node $<TARGET_FILE:candela>
                   --bin $<TARGET_FILE:candela-webhooks> ${suite})
  set_tests_properties(e2e/webhooks-${suite} PROPERTIES LABELS e2e TIMEOUT 900)
endforeach()
set_tests_properties(e2e/webhooks-package PROPERTIES LABELS e2e TIMEOUT 300)
set_tests_properties(e2e/webhooks e2e/webhooks-kills PROPERTIES LABELS e2e TIMEOUT 3600)
