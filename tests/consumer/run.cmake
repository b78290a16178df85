# Installs the built tree into a scratch folder, builds the consumers against it and runs them.
foreach(variable BUILD_DIR SOURCE_DIR WORK_DIR)
  if(NOT DEFINED ${variable})
    message(FATAL_ERROR "${variable} is not set")
  endif()
endforeach()

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/install)
foreach(consumer learner equations everything)
  run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/${consumer} -B ${WORK_DIR}/${consumer} -G Ninja
      -DCMAKE_PREFIX_PATH=${WORK_DIR}/install -DCMAKE_CXX_FLAGS=${CXX_FLAGS})
  run(${CMAKE_COMMAND} --build ${WORK_DIR}/${consumer})
  run(${WORK_DIR}/${consumer}/consumer)
endforeach()
