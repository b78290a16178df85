#include "cli/command.hpp"

int main(int argc, char** argv) { return lifeguard::run_command(argc, argv); }
