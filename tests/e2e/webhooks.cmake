# Webhooks from a development network to receivers of public packages, and through kills.
add_test(NAME e2e/webhooks
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/webhooks/run.py --node $<TARGET_FILE:candela>
                 --bin $<TARGET_FILE:candela-webhooks>)
add_test(NAME e2e/webhooks-package
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/../pricing/run.py --bin $<TARGET_FILE:candela-webhooks> package)
set_tests_properties(e2e/webhooks-package PROPERTIES LABELS e2e TIMEOUT 300)
set_tests_properties(e2e/webhooks PROPERTIES LABELS e2e TIMEOUT 3600)
