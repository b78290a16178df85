#pragma once

namespace CLI {
class App;
}

namespace lifeguard {

/// init, validate and observe.
void add_fleet_commands(CLI::App& app);

}  // namespace lifeguard
