// Check of the routing engine: whether the forwarding tables have what each of its tables has.
#include <algorithm>
#include <string>
#include <vector>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

// Source: man page of opensm, section ROUTING.
constexpr RoutingEngine kEngines[] = {
    {.name = "minhop", .minimal = true}, {.name = "updn", .up_down = true},
    {.name = "ftree", .up_down = true},  {.name = "dfsssp", .minimal = true},
    {.name = "sssp", .minimal = true},   {.name = "lash", .minimal = true},
};

std::string Names() {
  std::vector<std::string> names;
  for (const RoutingEngine& engine : kEngines) names.emplace_back(engine.name);
  return ListSome(names, names.size());
}

void FailEngine(const CheckInput& input, const std::string& what, const std::string& seen,
                std::vector<v1::Subject> affected, Verdicts& out) {
  const std::string_view engine = input.expected.routing->name;
  out.Fail({.subject = WholeSubnet(),
            .key = "",
            .title = Format("routing engine {} expected: {}, which {} never makes", engine, seen,
                            engine),
            .what = what,
            .expected = "none",
            .seen = seen,
            .basis = Format("routing engine {}", engine),
            .remedies = {Advice(
                "Read the log of the subnet manager: an engine that cannot route the topology is "
                "replaced by another one (opensm: 'routing engine' lines, option "
                "routing_engine).")},
            .affected = std::move(affected)});
}

void JudgeMinimal(const CheckInput& input, Verdicts& out) {
  std::uint64_t above = 0;
  for (const auto& [extra, pairs] : input.routes->pairs_by_extra_hops)
    if (extra > 0) above += pairs;
  if (above == 0) return out.Pass();
  std::vector<v1::Subject> affected;
  for (const Detours& each : input.routes->detours)
    affected.push_back(SubjectOf(input.subnet(), input.graph.EndOf(each.index, each.port)));
  FailEngine(input, "pairs above the minimum of switches",
             Format("{} use more switches than the minimum", Plural(above, "pair")),
             std::move(affected), out);
}

// Ports of switches by which traffic leaves upwards after it came down.
std::vector<End> Turns(const CheckInput& input) {
  const Graph& graph = input.graph;
  std::vector<End> turns;
  for (std::uint32_t from = 0; from < graph.size(); ++from)
    for (std::uint32_t port = 1; port < graph.stride(); ++port) {
      const std::uint32_t at = graph.Next(from, port);
      const std::size_t channel = std::size_t{from} * graph.stride() + port;
      if (at == kNoSwitch || !input.levels.IsUp(at, from) ||
          input.routes->channel_pairs[channel] == 0)
        continue;
      for (const std::uint32_t out : Uplinks(graph, input.levels, at))
        if (input.routes->continues.Has(channel, out)) turns.push_back(graph.EndOf(at, out));
    }
  std::ranges::sort(turns);
  turns.erase(std::unique(turns.begin(), turns.end()), turns.end());
  return turns;
}

void JudgeUpDown(const CheckInput& input, Verdicts& out) {
  if (!input.levels.tree)
    return out.Unknown(Format("{}: which ports lead up is unknown", input.levels.why_no_tree));
  const std::vector<End> turns = Turns(input);
  if (turns.empty()) return out.Pass();
  std::vector<std::string> words;
  std::vector<v1::Subject> affected;
  for (const End end : turns) {
    words.push_back(EndWords(input.subnet(), end));
    affected.push_back(SubjectOf(input.subnet(), end));
  }
  FailEngine(input, "ports by which traffic from above goes up again",
             Format("paths go down and up again by {}", ListSome(words, 4)), std::move(affected),
             out);
}

void JudgeEngine(const CheckInput& input, Verdicts& out) {
  if (input.expected.routing == nullptr)
    return out.Unknown("no expected routing engine: give one with --routing");
  if (input.routes == nullptr) return out.Unknown(std::string(kNoTables));
  if (input.expected.routing->minimal) JudgeMinimal(input, out);
  if (input.expected.routing->up_down) JudgeUpDown(input, out);
}

}  // namespace

Result<const RoutingEngine*> ParseRoutingEngine(std::string_view text) {
  const auto* const engine = std::ranges::find(kEngines, text, &RoutingEngine::name);
  if (engine == std::end(kEngines))
    return Status(Code::kInvalidArgument,
                  Format("expected one of {}, saw {}", Names(), Quoted(text)));
  return engine;
}

extern const Check subnet_routing_as_expected = {
    .id = "subnet_routing_as_expected",
    .title = "The forwarding tables are ones that the expected routing engine makes",
    .severity = v1::SEVERITY_WARNING,
    .why =
        "A subnet manager that cannot use its routing engine falls back to another one and "
        "only logs it. Balance and freedom from deadlocks are then lost.",
    .judge = JudgeEngine};

}  // namespace fabric::subnet
