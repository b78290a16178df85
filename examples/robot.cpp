// A robot that learns, in C++: it asks what to play, plays it, and tells what happened.
//
//   robot HOST PORT TOKEN MACHINE ROUNDS
//
// The robot here is a mass on a spring that is simulated in this very process; put your own in its
// place. docs/robots.md explains the rest, examples/robot.py is the same in Python.

#include <httplib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

using nlohmann::json;

/// One trajectory: the states, the actions as they were commanded, and how it ended.
static json fly(const json& policy, std::mt19937_64& random) {
  std::uniform_real_distribution<double> start(-2, 2);
  std::normal_distribution<double> noise(0, policy["noise_scale"].get<double>());
  const double limit =
      policy["noise_limit"].is_null() ? 1e300 : policy["noise_limit"].get<double>();
  const double dt = policy["dt_seconds"];
  double x[2] = {start(random), start(random)};
  json flight = {{"states", json::array()}, {"actions", json::array()}, {"end", "finished"}};
  for (int step = 0; step < policy["steps"].get<int>(); ++step) {
    double u = std::clamp(noise(random), -limit, limit);
    for (std::size_t i = 0; i < 2; ++i) {
      u += policy["gains"][0][i].get<double>() * (x[i] - policy["goal"][i].get<double>());
    }
    flight["states"].push_back({x[0], x[1]});
    flight["actions"].push_back({u});
    const double force = std::clamp(u, policy["action_low"][0].get<double>(),
                                    policy["action_high"][0].get<double>());
    x[1] += dt * (force - 5.5 * x[0] - 0.105 * x[1]) / 2.75;  // the machine itself
    x[0] += dt * x[1];
  }
  flight["states"].push_back({x[0], x[1]});
  return flight;
}

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "robot HOST PORT TOKEN MACHINE ROUNDS\n");
    return 2;
  }
  const std::string machine = argv[4];
  httplib::Client server(argv[1], std::atoi(argv[2]));
  server.set_bearer_token_auth(argv[3]);
  server.set_read_timeout(60);
  std::random_device entropy;
  std::mt19937_64 random(entropy());
  for (int round = 0; round < std::atoi(argv[5]); ++round) {
    const auto asked = server.Get("/api/policy", {{"machine", machine}}, httplib::Headers{});
    if (!asked || asked->status != 200) return 1;
    const json policy = json::parse(asked->body);
    std::string body = json{{"format", "lifeguard trajectories"},
                            {"version", 1},
                            {"machine", machine},
                            {"policy", policy["policy"]},
                            {"dt_seconds", policy["dt_seconds"]},
                            {"states", policy["inputs"]},
                            {"actions", policy["actions"]}}
                           .dump();
    for (int i = 0; i < 20; ++i) body += "\n" + fly(policy, random).dump();
    // The same id if it must be sent again: then it counts once.
    const std::string id = std::to_string(random()) + std::to_string(random());
    const std::string path =
        httplib::append_query_params("/api/observations", {{"machine", machine}, {"id", id}});
    const auto told = server.Post(path, body, "application/x-ndjson");
    if (!told || told->status != 200) return 1;
    const json answer = json::parse(told->body);
    std::printf("round %ld: mean cost %.4f\n", answer["round"].get<long>(),
                answer["mean_cost"].get<double>());
  }
  return 0;
}
