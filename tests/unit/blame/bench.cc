#include "tests/unit/blame/bench.h"

#include <algorithm>

#include "base/text.h"

namespace fabric::blame::testing {

Fabric FabricOf(const Layout& layout) {
  Fabric fabric;
  for (std::uint32_t node = 0; node < layout.nodes; ++node) {
    for (std::uint32_t rail = 0; rail < layout.rails; ++rail) {
      Endpoint endpoint{.node = Format("n{}", 10 + node),
                        .device = Format("mlx5_{}", rail),
                        .port = 1,
                        .rail = rail};
      if (layout.per_leaf > 0) {
        endpoint.leaf = Format("leaf-{}-{}", rail, node / layout.per_leaf);
        endpoint.leaf_port = Format("swp{}", node % layout.per_leaf);
      }
      fabric.endpoints.push_back(endpoint);
    }
  }
  return fabric;
}

std::vector<Observation> Healthy(const Layout& layout) {
  constexpr std::uint32_t kLabels = 4;
  std::vector<Observation> observations;
  const std::uint32_t nodes = layout.nodes + layout.nodes % 2;
  for (std::uint32_t round = 0; round + 1 < nodes && round < layout.rounds; ++round) {
    for (std::uint32_t i = 0; i < nodes / 2; ++i) {
      const auto seat = [&](std::uint32_t at) {
        return at == 0 ? 0 : 1 + (at - 1 + round) % (nodes - 1);
      };
      const std::uint32_t a = seat(i);
      const std::uint32_t b = seat(nodes - 1 - i);
      if (a >= layout.nodes || b >= layout.nodes) continue;
      for (std::uint32_t rail = 0; rail < layout.rails; ++rail) {
        const Observation pair{
            .from = a * layout.rails + rail, .to = b * layout.rails + rail, .round = round + 1};
        for (std::uint32_t label = 1; label <= kLabels; ++label) {
          Observation ping = pair;
          ping.flow_label = label;
          ping.attempts = 1000;
          ping.latency = 1.0F;
          observations.push_back(ping);
        }
        Observation there = pair;
        there.speed = 1.0F;
        observations.push_back(there);
        Observation back = there;
        std::swap(back.from, back.to);
        observations.push_back(back);
      }
    }
  }
  return observations;
}

std::vector<Observation> With(std::vector<Observation> observations,
                              const std::function<bool(const Observation&)>& bad,
                              const std::function<void(Observation&)>& change) {
  for (Observation& seen : observations)
    if (bad(seen)) change(seen);
  return observations;
}

std::vector<Observation> Apart(std::vector<Observation> observations, double seconds) {
  for (Observation& seen : observations) seen.began_s = 1000 + seconds * seen.round;
  return observations;
}

void Dead(Observation& seen) {
  seen.failures = seen.attempts;
  seen.speed.reset();
  seen.latency.reset();
}

void Lose(Observation& seen, double component) {
  seen.failures = static_cast<std::uint32_t>(component * seen.attempts);
}

namespace {

std::string Word(std::string name, std::string_view prefix) {
  if (name.starts_with(prefix)) name.erase(0, prefix.size());
  return name == "UNSPECIFIED" ? std::string() : Format(" {}", name);
}

}  // namespace

std::string Text(const v1::BlameReport& report) {
  std::vector<std::string> decided;
  for (const v1::Suspect& suspect : report.suspects())
    decided.push_back(
        Format("{} {}{}{}", Trim(Word(v1::SuspectKind_Name(suspect.kind()), "SUSPECT_KIND_")),
               suspect.name(), Word(v1::Direction_Name(suspect.direction()), "DIRECTION_"),
               Word(v1::FaultKind_Name(suspect.fault()), "FAULT_KIND_")));
  std::sort(decided.begin(), decided.end());
  std::string text = Join(decided, "; ");
  for (const v1::UndecidedGroup& group : report.undecided()) {
    std::vector<std::string> between;
    for (const v1::Suspect& suspect : group.suspects())
      between.push_back(Format("{} {}",
                               Trim(Word(v1::SuspectKind_Name(suspect.kind()), "SUSPECT_KIND_")),
                               suspect.name()));
    std::sort(between.begin(), between.end());
    text += Format("| {}", Join(between, ", "));
  }
  return text;
}

}  // namespace fabric::blame::testing
