# Install and export: find_package(lifeguard COMPONENTS learner simulation runs) gives
# lifeguard::learner, lifeguard::simulation and lifeguard::runs, and lifeguard::lifeguard for all.
set(lifeguard_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lifeguard)

foreach(component learner simulation runs)
  set(targets lifeguard_${component})
  if(component STREQUAL simulation)
    list(APPEND targets lifeguard_own_systems)
  elseif(component STREQUAL runs)
    list(APPEND targets lifeguard)
  endif()
  install(TARGETS ${targets} EXPORT lifeguard-${component}-targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(
    EXPORT lifeguard-${component}-targets
    NAMESPACE lifeguard::
    DESTINATION ${lifeguard_cmake_dir})
endforeach()

include(cmake/PublicHeaders.cmake)
foreach(header ${lifeguard_public_headers} ${lifeguard_equation_headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES lifeguard/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lifeguard/${folder})
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/generated/lifeguard/version.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lifeguard)

configure_package_config_file(cmake/lifeguard-config.cmake.in lifeguard-config.cmake
                              INSTALL_DESTINATION ${lifeguard_cmake_dir})
write_basic_package_version_file(lifeguard-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lifeguard-config.cmake
              ${PROJECT_BINARY_DIR}/lifeguard-config-version.cmake
        DESTINATION ${lifeguard_cmake_dir})
if(LIFEGUARD_BUILD_COMMAND)
  install(TARGETS lifeguard_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  include(cmake/Manual.cmake)
endif()
