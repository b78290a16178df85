#include "cli/openapi.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

using Json = nlohmann::ordered_json;

Json query(const char* name, const char* description) {
  return {{"name", name},
          {"in", "query"},
          {"required", true},
          {"description", description},
          // No control characters.
          {"schema",
           {{"type", "string"},
            {"minLength", 1},
            {"maxLength", 200},
            {"pattern", "^[^\\u0000-\\u001f\\u007f]+$"}}}};
}

Json reference(const char* schema) {
  return {{"$ref", std::string("#/components/schemas/") + schema}};
}

Json answer(const char* description, const char* schema) {
  return {{"description", description},
          {"content", {{"application/json", {{"schema", reference(schema)}}}}}};
}

Json refusal(const char* description) { return answer(description, "Refusal"); }

Json text(const char* description) {
  return {{"description", description},
          {"content", {{"text/plain; charset=utf-8", {{"schema", {{"type", "string"}}}}}}}};
}

Json object(Json properties, std::vector<std::string> required) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", required}};
}

const Json kText = {{"type", "string"}};
const Json kNumber = {{"type", "number"}};
const Json kNumberOrNull = {{"type", {"number", "null"}}};
/// One number, or a list with one for each action where they differ.
const Json kForActions = {
    {"anyOf", {{{"type", "number"}}, {{"type", "array"}, {"items", {{"type", "number"}}}}}}};
const Json kForActionsOrNull = {{"anyOf",
                                 {{{"type", {"number", "null"}}},
                                  {{"type", "array"}, {"items", {{"type", {"number", "null"}}}}}}}};
const Json kWhole = {{"type", "integer"}};
const Json kFlag = {{"type", "boolean"}};

Json list_of(const Json& items) { return {{"type", "array"}, {"items", items}}; }

Json schemas() {
  const Json signal = object({{"name", kText}, {"unit", kText}}, {"name", "unit"});
  Json schemas;
  schemas["Fleet"] = object({{"name", kText},
                             {"rounds", kWhole},
                             {"steps", kWhole},
                             {"machines", list_of(kText)},
                             {"problem", kText}},
                            {"name", "rounds", "steps", "machines"});
  schemas["Policy"] =
      object({{"task", kText},
              {"policy", kText},
              {"round", kWhole},
              {"steps", kWhole},
              {"inputs", list_of(signal)},
              {"actions", list_of(signal)},
              {"bias", kFlag},
              {"second_order", kFlag},
              {"gains", list_of(list_of(kNumber))},
              {"goal", list_of(kNumber)},
              {"action_low", list_of(kNumberOrNull)},
              {"action_high", list_of(kNumberOrNull)},
              {"dt_seconds", kNumber},
              {"sigma", kForActions},
              {"noise_scale", kForActions},
              {"noise_limit", kForActionsOrNull},
              {"worst_row", kText},
              {"worst_row_meaning", kText},
              {"margin", kNumberOrNull}},
             {"task", "policy", "round", "steps", "inputs", "actions", "gains", "goal",
              "action_low", "action_high", "dt_seconds", "sigma", "noise_scale", "noise_limit"});
  schemas["Round"] = object({{"machine", kText},
                             {"round", kWhole},
                             {"visit", kWhole},
                             {"status", kText},
                             {"repeated", kFlag},
                             {"trajectories", kWhole},
                             {"cut_short", kWhole},
                             {"mean_cost", kNumberOrNull},
                             {"falls", kWhole},
                             {"violations", kWhole},
                             {"saturations", kWhole},
                             {"unsafe_policies", kWhole}},
                            {"machine", "round", "visit", "status", "repeated", "trajectories"});
  schemas["Refusal"] =
      object({{"field", kText}, {"value", kText}, {"rule", kText}}, {"field", "value", "rule"});
  return schemas;
}

}  // namespace

Json openapi_description() {
  Json json;
  json["openapi"] = "3.1.0";
  json["info"] = {{"title", "lifeguard"},
                  {"version", kVersion},
                  {"description",
                   "What a machine shall play, and what happened. Every policy was proven to keep "
                   "the machine's constraints before it left."}};
  json["components"] = {{"schemas", schemas()},
                        {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}};
  json["security"] = Json::array({{{"token", Json::array()}}});
  const Json denied = text("the token is missing or wrong");
  const Json broken = text("the run file cannot be read or written; try again");
  Json& paths = json["paths"];
  paths["/api/machines"]["get"] = {
      {"summary", "The machines of the fleet that are not retired"},
      {"operationId", "machines"},
      {"responses", {{"200", answer("the fleet", "Fleet")}, {"401", denied}, {"503", broken}}}};
  paths["/api/policy"]["get"] = {
      {"summary", "What a machine shall play next"},
      {"operationId", "policy"},
      {"parameters", Json::array({query("machine", "its name in the fleet's file")})},
      {"responses",
       {{"200", answer("u = K (x - goal) + noise, limited to the actuators' range", "Policy")},
        {"400", refusal("no usable name")},
        {"401", denied},
        {"404", refusal("there is no such machine, or it is retired")},
        {"503", broken}}}};
  const Json recording = {{"schema", {{"type", "string"}}}};
  paths["/api/observations"]["post"] = {
      {"summary", "What happened when a machine played its policy: one round"},
      {"operationId", "observe"},
      {"parameters",
       Json::array({query("machine", "its name in the fleet's file"),
                    query("id",
                          "chosen by the sender: sent again with the same id, the same "
                          "trajectories count once")})},
      {"requestBody",
       {{"required", true},
        {"description", "trajectories, at most 64 MiB; docs/trajectories.md describes both forms"},
        {"content", {{"application/x-ndjson", recording}, {"text/csv", recording}}}}},
      {"responses",
       {{"200", answer("the round, also if it had been counted before", "Round")},
        {"400", refusal("the request is not one")},
        {"401", denied},
        {"404", refusal("there is no such machine, or it is retired")},
        {"409", refusal("the id is that of other trajectories")},
        {"413", text("more than 64 MiB")},
        {"415", refusal("neither application/x-ndjson nor text/csv")},
        {"422", refusal("why nothing can be learnt from the trajectories")},
        {"503", broken}}}};
  paths["/api/openapi.json"]["get"] = {
      {"summary", "This description"},
      {"operationId", "openapi"},
      {"responses",
       {{"200",
         {{"description", "OpenAPI 3.1"},
          {"content", {{"application/json", {{"schema", {{"type", "object"}}}}}}}}},
        {"401", denied}}}};
  return json;
}

}  // namespace lifeguard
