# The ad exchange with bidders, players and kills: each suite is a file of adx/.
#   suite     what publishers, players and bidders see       hostile   bidders that are slow, dead, wrong, hostile
#   kills     two exchanges on one ledger, killed under load: a dozen times, a thousand when CANDELA_TEST_FULL is 1
#   miners    honest miners that are paid, and others that are not
#   player    a VAST client library plays our documents      docs      the commands of docs/adx.md
#   hour      load with bidders of every bad kind        shared    the ledger on PostgreSQL
#   replays   one beacon replayed twenty thousand times, a million when CANDELA_TEST_FULL is 1
#   caps      frequency caps that two exchanges share through Valkey
#   wrappers  followed on the server side
#   chain     settlement on a development network, through kills
#   strict/   no suite: what reads every response of the suites with the types of a public OpenRTB library
#   sealed    sealed auctions, frequency caps and tokens: what is acknowledged survives kills, what is tampered with shows
foreach(suite suite hostile kills sealed miners chain player docs wrappers hour shared caps replays)
  add_test(NAME e2e/adx-${suite}
           COMMAND ${CMAKE_CURRENT_LIST_DIR}/adx/run.py --bin $<TARGET_FILE:candela-adx> --node $<TARGET_FILE:candela> ${suite})
  set_tests_properties(e2e/adx-${suite} PROPERTIES LABELS e2e TIMEOUT 600
                       ENVIRONMENT "CANDELA_TESTDATA=${CD_TESTDATA}")
endforeach()
set_tests_properties(e2e/adx-kills PROPERTIES TIMEOUT 3600)
add_test(NAME e2e/adx-package
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/../pricing/run.py --bin $<TARGET_FILE:candela-adx> package)
set_tests_properties(e2e/adx-package PROPERTIES LABELS e2e TIMEOUT 300)
