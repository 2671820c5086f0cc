# The target cd_rocksdb. A release program has the engine inside: the loader then has a third less to do before main, and
# 3 MB less of it stays resident. Tests share the library, for a hundred copies of it would take the disk; so do builds
# with a sanitizer, whose suppressions know it by its file.
add_library(cd_rocksdb INTERFACE)
set(CD_ROCKSDB_INSIDE FALSE)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT CD_SANITIZE)
  set(CD_ROCKSDB_INSIDE TRUE)
  set(archives "")
  foreach(name rocksdb snappy lz4 bz2 gflags) # librocksdb-dev brings all of them
    find_library(CD_ARCHIVE_${name} lib${name}.a)
    list(APPEND archives ${CD_ARCHIVE_${name}})
    if(NOT CD_ARCHIVE_${name})
      set(CD_ROCKSDB_INSIDE FALSE)
    endif()
  endforeach()
endif()
if(CD_ROCKSDB_INSIDE)
  set(is_program $<BOOL:$<TARGET_PROPERTY:CD_IS_PROGRAM>>)
  target_link_libraries(cd_rocksdb INTERFACE
    $<${is_program}:${archives}> $<${is_program}:-Wl,-Bstatic> $<${is_program}:-lstdc++> $<${is_program}:-Wl,-Bdynamic>
    $<${is_program}:-lzstd> $<${is_program}:-lz> $<${is_program}:-lm> $<$<NOT:${is_program}>:rocksdb>)
  target_link_options(cd_rocksdb INTERFACE $<${is_program}:-Wl,--gc-sections>)
else()
  target_link_libraries(cd_rocksdb INTERFACE rocksdb)
endif()
