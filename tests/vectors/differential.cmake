# Mutated state tests against the peers of bench/peers, which only `make test-full` builds (they need a newer Go and
# Rust than Debian has): a fixed seed, and an hour of new cases.
set(differential ${PROJECT_SOURCE_DIR}/tests/differential)
add_test(NAME differential/mutations COMMAND ${differential}/mutate_test.py)
set_tests_properties(differential/mutations PROPERTIES LABELS unit)
add_test(NAME differential/state-tests
         COMMAND ${differential}/state_diff.py --batches 100
                 --candela $<TARGET_FILE:candela-evmtool>)
set_tests_properties(differential/state-tests PROPERTIES LABELS "state;full" TIMEOUT 900
                     ENVIRONMENT "CANDELA_TESTDATA=${CD_TESTDATA}")
add_test(NAME differential/state-tests-hour
         COMMAND ${differential}/state_diff.py --seconds 3600 --seed 0
                 --candela $<TARGET_FILE:candela-evmtool>)
set_tests_properties(differential/state-tests-hour PROPERTIES LABELS "state;full" TIMEOUT 4500
                     ENVIRONMENT "CANDELA_TESTDATA=${CD_TESTDATA}")
