# Pages in headless Chromium: facts, content security policy, scripts, access, widths, keyboard.
add_test(NAME e2e/browser-pricing
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/browser/run.py pricing $<TARGET_FILE:services_pricing_page_test>)
add_test(NAME e2e/browser-adx
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/browser/run.py adx $<TARGET_FILE:candela-adx>)
add_test(NAME e2e/browser-explorer
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/browser/run.py explorer $<TARGET_FILE:candela>)
add_test(NAME e2e/browser-index
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/browser/run.py index $<TARGET_FILE:candela>)
add_test(NAME e2e/browser-primary
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/browser/run.py primary $<TARGET_FILE:candela>)
add_test(NAME e2e/browser-webhooks
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/browser/run.py webhooks $<TARGET_FILE:candela-webhooks>
                 --node $<TARGET_FILE:candela>)
add_test(NAME e2e/browser-finality
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/browser/run.py finality $<TARGET_FILE:candela>)
add_test(NAME e2e/browser-project
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/browser/run.py project $<TARGET_FILE:candela>)
set_tests_properties(e2e/browser-adx e2e/browser-finality e2e/browser-pricing e2e/browser-explorer e2e/browser-index
                     e2e/browser-primary e2e/browser-webhooks
                     PROPERTIES LABELS e2e TIMEOUT 1200)
set_tests_properties(e2e/browser-project PROPERTIES LABELS "e2e;full" TIMEOUT 1200)
