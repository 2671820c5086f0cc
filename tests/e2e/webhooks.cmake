# Webhooks from a development network to receivers of public packages: each suite is a file of webhooks/.
#   suite     what clients and receivers see                 faces     the interfaces, claim by claim
#   kinds     every kind of event of a Hardhat project       features  what a service offers besides
#   nodes     nodes of others, and nodes that fail           mail      tables to their end, mails
#   answers   receivers that answer in every way             lists     addresses that change while blocks come
#   states    webhooks stopped, started, given new secrets and replayed meanwhile
#   kills     service and node killed under load: ten times, a thousand when CANDELA_TEST_FULL is 1
#   edges     hostile addresses, tiers, the command line, the commands of docs/webhooks.md
#   workers   several on one PostgreSQL, workers and server killed
add_library(e2e_names MODULE ${CMAKE_CURRENT_LIST_DIR}/webhooks/names.c)
foreach(suite suite faces edges kinds features nodes mail kills workers answers lists states)
  add_test(NAME e2e/webhooks-${suite}
           COMMAND ${CMAKE_CURRENT_LIST_DIR}/webhooks/run.py --node $<TARGET_FILE:candela>
                   --bin $<TARGET_FILE:candela-webhooks> ${suite})
  set_tests_properties(e2e/webhooks-${suite} PROPERTIES LABELS e2e TIMEOUT 600)
endforeach()
set_tests_properties(e2e/webhooks-kills e2e/webhooks-workers PROPERTIES TIMEOUT 3600)
set_tests_properties(e2e/webhooks-edges PROPERTIES ENVIRONMENT "CANDELA_NAMES=$<TARGET_FILE:e2e_names>")
add_test(NAME e2e/webhooks-package
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/../pricing/run.py --bin $<TARGET_FILE:candela-webhooks> package)
set_tests_properties(e2e/webhooks-package PROPERTIES LABELS e2e TIMEOUT 300)
