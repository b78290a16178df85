#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lifeguard {

/// The candidate that a mistyped word was most likely meant to be; empty if none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

/// What is wrong with a command line, with what the unknown words in it may have been meant to be
/// and where to find out more.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace lifeguard
