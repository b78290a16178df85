#include "cli/serve.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <httplib.h>
#undef _res  // a macro of the resolver that Eigen does not survive
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "cli/exit_codes.hpp"
#include "cli/fleet_desk.hpp"
#include "cli/openapi.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/page.hpp"
#include "cli/run_folder.hpp"
#include "cli/stop.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/run_file.hpp"

namespace lifeguard {
namespace {

constexpr int kThreads = 32;
constexpr std::size_t kShortestToken = 16;

/// What a robot may send at once, and what anybody else may.
constexpr std::size_t kMostRobotBytes = std::size_t{64} << 20;
constexpr std::size_t kMostBytes = std::size_t{64} << 10;

struct ServeArguments {
  std::string path = ".";
  bool robots = false;
  std::string address = "127.0.0.1";
  int port = 8321;
  std::optional<std::string> token;
  bool json = false;
};

bool is_loopback(const std::string& address) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  if (inet_pton(AF_INET6, address.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6) != 0;
  return address == "localhost";
}

/// Takes the same time whatever the given token has in common with the right one.
bool same_token(const std::string& right, const std::string& given) {
  unsigned difference = right.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const char other = i < given.size() ? given[i] : '\0';
    difference |= static_cast<unsigned char>(right[i] ^ other);
  }
  return difference == 0;
}

std::string given_token(const httplib::Request& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string header = request.get_header_value("Authorization");
  if (header.starts_with(kScheme)) return header.substr(kScheme.size());
  return request.get_param_value("token");
}

void refuse(httplib::Response& response, int status, const std::string& why) {
  response.status = status;
  response.set_content(why + "\n", "text/plain; charset=utf-8");
}

/// Without a copy for each request.
void send(httplib::Response& response, Answer answer, const char* type) {
  const std::size_t size = answer->size();
  response.set_content_provider(size, type,
                                [answer = std::move(answer)](std::size_t offset, std::size_t length,
                                                             httplib::DataSink& sink) {
                                  return sink.write(answer->data() + offset, length);
                                });
}

/// The host a browser thinks it talks to, without the port.
std::string host_of(const httplib::Request& request) {
  const std::string host = request.get_header_value("Host");
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

/// What is wrong with a request before anybody looks at its path.
httplib::Server::HandlerResponse admit(const std::string& token, bool robots,
                                       const httplib::Request& request,
                                       httplib::Response& response) {
  using enum httplib::Server::HandlerResponse;
  const bool from_robot = robots && request.path == "/api/observations";
  // What hands out a policy writes that down, so that only GET will do.
  const bool hands_out = robots && request.path == "/api/policy";
  const bool reads = request.method == "GET" || (request.method == "HEAD" && !hands_out);
  if (from_robot ? request.method != "POST" : !reads) {
    response.set_header("Allow", from_robot ? "POST" : "GET, HEAD");
    refuse(response, 405, from_robot ? "only POST" : "only GET and HEAD");
    return Handled;
  }
  // What is packed may be a thousand times as large as it looks.
  if (const std::string encoding = request.get_header_value("Content-Encoding");
      !encoding.empty() && encoding != "identity") {
    refuse(response, 415, "Content-Encoding must be identity");
    return Handled;
  }
  if (!token.empty() && !same_token(token, given_token(request))) {
    response.set_header("WWW-Authenticate", "Bearer");
    refuse(response, 401, "the token is missing or wrong");
    return Handled;
  }
  // Another site's name that was made to point here must not make a browser read our runs.
  if (token.empty() && !is_loopback(host_of(request))) {
    refuse(response, 403, "this address is not served");
    return Handled;
  }
  return Unhandled;
}

/// -1 if it is not there, nothing if it is not a whole number.
std::optional<long> since_of(const httplib::Request& request) {
  if (!request.has_param("since")) return -1;
  const std::string text = request.get_param_value("since");
  long since = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), since);
  if (error != std::errc() || end != text.data() + text.size() || since < -1) return std::nullopt;
  return since;
}

void answer_report(RunFolder& folder, const httplib::Request& request,
                   httplib::Response& response) {
  const std::string run = request.get_param_value("run");
  const std::optional<long> since = since_of(request);
  if (!since) return refuse(response, 400, "since must be a round");
  if (run.empty() && (request.has_param("run") || *since >= 0)) {
    return refuse(response, 400, "run must name a run if since is given");
  }
  if (run.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
    return refuse(response, 400, "run must be the name of a file");
  }
  try {
    Answer answer = folder.report(run, *since);
    if (!answer) return refuse(response, 404, "no such run");
    send(response, std::move(answer), "application/json");
  } catch (const RunFileError& error) {
    refuse(response, 422, error.what());
  }
}

void send_json(httplib::Response& response, const nlohmann::ordered_json& json, int status = 200) {
  response.status = status;
  response.set_content(
      json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n",
      "application/json");
}

void send_refusal(httplib::Response& response, const InvalidInput& error, int status) {
  send_json(response,
            {{"field", error.field()}, {"value", printable(error.value())}, {"rule", error.rule()}},
            status);
}

/// Runs `action` for a robot and answers with what comes of it.
template <class Action>
void answer_robot(httplib::Response& response, const Action& action) {
  const auto try_again = [&](const std::exception& error) {
    say("lifeguard: {}", error.what());
    response.set_header("Retry-After", "1");
    refuse(response, 503, "the run file cannot be read or written; try again");
  };
  try {
    send_json(response, action());
  } catch (const UnknownMachine& error) {
    send_refusal(response, error, 404);
  } catch (const TakenId& error) {
    send_refusal(response, error, 409);
  } catch (const BadName& error) {
    send_refusal(response, error, 400);
  } catch (const InvalidInput& error) {
    send_refusal(response, error, 422);
  } catch (const RunFileError& error) {
    try_again(error);
  } catch (const OutputError& error) {
    try_again(error);
  }
}

void take_observation(FleetDesk& desk, const httplib::Request& request,
                      httplib::Response& response) {
  std::string type = request.get_header_value("Content-Type");
  type = type.substr(0, type.find_first_of("; "));
  std::transform(type.begin(), type.end(), type.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool json = type == "application/x-ndjson" || type == "application/jsonl";
  if (!json && type != "text/csv") {
    return send_json(response,
                     {{"field", "Content-Type"},
                      {"value", printable(type)},
                      {"rule", "must be application/x-ndjson or text/csv"}},
                     415);
  }
  answer_robot(response, [&] {
    return desk.observe(request.get_param_value("machine"), request.get_param_value("id"),
                        request.body, json ? RecordingFormat::json_lines : RecordingFormat::csv,
                        request.remote_addr);
  });
}

void add_robot_routes(httplib::Server& server, FleetDesk& desk) {
  server.Get("/api/machines", [&desk](const httplib::Request&, httplib::Response& response) {
    answer_robot(response, [&] { return desk.machines(); });
  });
  server.Get("/api/policy", [&desk](const httplib::Request& request, httplib::Response& response) {
    answer_robot(response, [&] { return desk.policy(request.get_param_value("machine")); });
  });
  server.Post("/api/observations",
              [&desk](const httplib::Request& request, httplib::Response& response) {
                take_observation(desk, request, response);
              });
  server.Get("/api/openapi.json", [](const httplib::Request&, httplib::Response& response) {
    send_json(response, openapi_description());
  });
}

void add_routes(httplib::Server& server, RunFolder& folder, const std::string& token,
                FleetDesk* desk) {
  const auto page =
      std::make_shared<const std::string>(page_with({{"live", {{"name", folder.name()}}}}));
  server.set_default_headers({{"Cache-Control", "no-store"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"X-Frame-Options", "DENY"},
                              {"Referrer-Policy", "no-referrer"}});
  server.set_pre_routing_handler(
      [token, robots = desk != nullptr](const auto& request, auto& response) {
        return admit(token, robots, request, response);
      });
  if (desk != nullptr) add_robot_routes(server, *desk);
  server.Get("/", [page](const httplib::Request&, httplib::Response& response) {
    send(response, page, "text/html; charset=utf-8");
  });
  server.Get("/api/runs", [&folder](const httplib::Request&, httplib::Response& response) {
    send(response, folder.list(), "application/json");
  });
  server.Get("/api/report",
             [&folder](const httplib::Request& request, httplib::Response& response) {
               answer_report(folder, request, response);
             });
  server.set_exception_handler([](const auto&, auto& response, const std::exception_ptr&) {
    refuse(response, 500, "the run cannot be read");
  });
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (!response.body.empty()) return;
    refuse(response, response.status,
           response.status == 413 ? "too large" : "not found or not understood");
  });
}

void serve(const ServeArguments& arguments) {
  require(is_loopback(arguments.address) || arguments.token, "--address", arguments.address,
          "needs --token: others could read the runs");
  require(!arguments.token || arguments.token->size() >= kShortestToken, "--token", "(secret)",
          fmt::format("must have at least {} characters", kShortestToken));
  const bool fleet = std::filesystem::path(arguments.path).extension() == ".toml";
  require(!arguments.robots || fleet, "--robots", arguments.path,
          "needs a fleet: name its TOML file");
  require(!arguments.robots || arguments.token, "--robots", "without --token",
          "needs --token: whoever has it can teach the fleet");
  // To be stopped is how it ends, and there is nothing to go on with.
  when_stopped(kDone, [] { return std::string(); });
  const std::filesystem::path runs =
      fleet ? FleetRun::default_run_file(arguments.path) : std::filesystem::path(arguments.path);
  std::optional<FleetDesk> desk;
  if (arguments.robots) desk.emplace(arguments.path, runs);
  RunFolder folder(runs);
  // Looking on must not slow what is looked at: a run on the same cores goes first.
  if (!desk && setpriority(PRIO_PROCESS, 0, 10) != 0) say("lifeguard: priority not lowered");
  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // A connection that idles must not keep a thread from others.
  server.set_keep_alive_max_count(1);
  server.set_read_timeout(5);
  server.set_write_timeout(5);
  // The default would let two servers share a port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  server.set_payload_max_length(desk ? kMostRobotBytes : kMostBytes);
  add_routes(server, folder, arguments.token.value_or(""), desk ? &*desk : nullptr);

  int port = arguments.port;
  if (port == 0) {
    port = server.bind_to_any_port(arguments.address);
  } else if (!server.bind_to_port(arguments.address, port)) {
    port = -1;
  }
  if (port <= 0) {
    throw std::runtime_error(
        fmt::format("cannot listen on {} port {}: is the address this computer's, and the port not "
                    "in use? --port 0 takes any that is free",
                    arguments.address, arguments.port));
  }
  const bool v6 = arguments.address.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + arguments.address + "]" : arguments.address;
  const std::string url = fmt::format("http://{}:{}/", host, port);
  if (arguments.json) {
    print_json({{"address", url}, {"port", port}}, -1);
  } else {
    put("{}\n", url);
  }
  flush_output();

  const std::jthread watcher([&server](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (stop_requested()) server.stop();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  server.listen_after_bind();
  if (!stop_requested()) throw std::runtime_error("the server ended: it cannot accept connections");
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto arguments = std::make_shared<ServeArguments>();
  CLI::App* command =
      app.add_subcommand("serve", "Show runs in the browser while they go on; Ctrl-C ends");
  add_path(*command, "path", arguments->path,
           "a run file, a folder of them, or the TOML file of a fleet")
      ->capture_default_str();
  command->add_flag("--robots", arguments->robots,
                    "machines of the fleet may ask what to play and tell what happened");
  add_number(*command, "--port", arguments->port, 0, 65535, "0 takes any that is free");
  command->add_option("--address", arguments->address, "any but this computer's own needs a token")
      ->capture_default_str();
  command->add_option("--token", arguments->token, "asked from whoever wants to look")
      ->envname("LIFEGUARD_TOKEN");
  command->add_flag("--json", arguments->json, "print the address as JSON");
  command->footer(
      "A token is given as ?token=… or in the header Authorization: Bearer …; other users of this\n"
      "computer see command lines, so LIFEGUARD_TOKEN is the better place for it. Stopped by "
      "Ctrl-C\n"
      "or a request to terminate it ends with 0.");
  command->callback([arguments] { serve(*arguments); });
}

}  // namespace lifeguard
