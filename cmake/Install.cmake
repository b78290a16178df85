# Install and export, so that find_package(lifeguard) gives lifeguard::lifeguard.
set(lifeguard_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lifeguard)

install(TARGETS lifeguard lifeguard_learner lifeguard_simulation lifeguard_runs EXPORT lifeguard-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(
  DIRECTORY lifeguard ${PROJECT_BINARY_DIR}/generated/lifeguard
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING
  PATTERN "*.hpp")
install(
  EXPORT lifeguard-targets
  NAMESPACE lifeguard::
  DESTINATION ${lifeguard_cmake_dir})
configure_package_config_file(cmake/lifeguard-config.cmake.in lifeguard-config.cmake
                              INSTALL_DESTINATION ${lifeguard_cmake_dir})
write_basic_package_version_file(lifeguard-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lifeguard-config.cmake
              ${PROJECT_BINARY_DIR}/lifeguard-config-version.cmake
        DESTINATION ${lifeguard_cmake_dir})
if(LIFEGUARD_BUILD_COMMAND)
  install(TARGETS lifeguard_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
