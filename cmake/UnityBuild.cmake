# Eigen's templates are most of what is compiled, and a translation unit compiles each of them once: six
# units of tests take 1.4 times as long as one that holds them all. So in a unity build there are two units for each
# core, which keeps all cores busy to the end, and no unit of fewer than twelve sources. GCC, which needs
# gigabytes for larger ones, always gets twelve. A preset may say otherwise: sanitizers want small ones.
function(lifeguard_set_unity_batch target)
  if(DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
    return()
  endif()
  set(batch 12)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
    get_target_property(sources ${target} SOURCES)
    list(LENGTH sources count)
    math(EXPR even "(${count} + 2 * ${cores} - 1) / (2 * ${cores})")
    if(even GREATER batch)
      set(batch ${even})
    endif()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()
