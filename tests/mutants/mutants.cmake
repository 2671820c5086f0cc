# Faults that are planted one at a time; hours. Not all are noticed yet (docs/hardening.md): 97 per cent is what is wanted.
add_test(NAME full/mutants COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.py --least 75)
set_tests_properties(full/mutants PROPERTIES LABELS "e2e;full" TIMEOUT 36000)
add_test(NAME check/mutants COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.py --check)
set_tests_properties(check/mutants PROPERTIES LABELS check)
