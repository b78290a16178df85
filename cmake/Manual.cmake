# The manual page and the shells' completion, printed by the command itself once it is built.
if(CMAKE_CROSSCOMPILING)
  message(STATUS "lifeguard: no manual page and no completion, since the command cannot run here")
  return()
endif()

set(manual_dir ${PROJECT_BINARY_DIR}/manual)
set(manual_files ${manual_dir}/lifeguard.1 ${manual_dir}/lifeguard.bash ${manual_dir}/_lifeguard
                 ${manual_dir}/lifeguard.fish)
file(MAKE_DIRECTORY ${manual_dir})
add_custom_command(
  OUTPUT ${manual_files}
  COMMAND lifeguard_command man --out ${manual_dir}/lifeguard.1
  COMMAND lifeguard_command completion bash --out ${manual_dir}/lifeguard.bash
  COMMAND lifeguard_command completion zsh --out ${manual_dir}/_lifeguard
  COMMAND lifeguard_command completion fish --out ${manual_dir}/lifeguard.fish
  DEPENDS lifeguard_command
  COMMENT "Manual page and completion"
  VERBATIM)
add_custom_target(lifeguard_manual ALL DEPENDS ${manual_files})

install(FILES ${manual_dir}/lifeguard.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(
  FILES ${manual_dir}/lifeguard.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME lifeguard)
install(FILES ${manual_dir}/_lifeguard DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${manual_dir}/lifeguard.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
