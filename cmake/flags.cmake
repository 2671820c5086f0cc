# Warnings, hardening and the per-preset instrumentation of our own code (spec/style.md B9).
set(CD_WARNINGS
    -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
    -Wswitch-enum -Wvla -Wundef -Wpointer-arith -Wcast-align -Wformat=2 -Wnull-dereference
    -Wunused-result -Walloca -Werror
    "$<$<COMPILE_LANGUAGE:C>:SHELL:-include ${PROJECT_SOURCE_DIR}/src/base/banned.h>")
# -Wnull-dereference needs the optimiser's view and then reports paths no caller takes; it stays for
# plain builds only.
if(CD_SANITIZE OR CMAKE_C_COMPILER_ID STREQUAL "Clang" OR CMAKE_BUILD_TYPE STREQUAL "Release")
  list(REMOVE_ITEM CD_WARNINGS -Wnull-dereference)
endif()

# For our own code and for what is bundled. What only a release has would hide from the sanitizers, or slow them down.
set(CD_HARDENING -fstack-protector-strong)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT CD_SANITIZE)
  list(APPEND CD_HARDENING -fstack-clash-protection -fcf-protection=full -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()

set(CD_CFLAGS -fvisibility=hidden -fno-strict-aliasing -fPIE ${CD_HARDENING})
if(CD_MARCH)
  list(APPEND CD_CFLAGS -march=${CD_MARCH})
endif()
set(CD_LDFLAGS -pie -Wl,-z,relro,-z,now,-z,noexecstack)

if(CD_SANITIZE STREQUAL "address")
  list(APPEND CD_CFLAGS -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  list(APPEND CD_LDFLAGS -fsanitize=address,undefined)
elseif(CD_SANITIZE STREQUAL "thread")
  list(APPEND CD_CFLAGS -fsanitize=thread -fno-omit-frame-pointer)
  list(APPEND CD_LDFLAGS -fsanitize=thread)
endif()
if(CD_COVERAGE)
  list(APPEND CD_CFLAGS --coverage)
  list(APPEND CD_LDFLAGS --coverage)
endif()
if(CD_FUZZ)
  list(APPEND CD_CFLAGS -fsanitize=fuzzer-no-link)
endif()
