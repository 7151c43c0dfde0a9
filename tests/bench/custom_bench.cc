// What an operator's expression costs on one port of a healthy node, and a rule on its nine ports.
#include <benchmark/benchmark.h>

#include "base/text.h"
#include "daemon/custom/rule_file.h"
#include "tests/testing/nodes.h"

namespace fabric::custom {
namespace {

constexpr std::string_view kExpressions[] = {
    "netdev.mtu_bytes == 9000",
    "port.state == 'ACTIVE' && port.link_layer == 'ETHERNET'",
    "bit(netdev.dcb.pfc.enabled_mask, 3) && netdev.dcb.trust == 'DSCP'",
    "device.driver.matches(r'^mlx5_')",
    "port.gids.exists(g, g.type == 'ROCE_V2' && !g.link_local)",
    "netdev.dcb.app.filter(a, a.selector == 'DSCP').map(a, a.priority).all(p, p < 8)",
};

void Test(benchmark::State& state) {
  const std::string_view text = kExpressions[state.range(0)];
  const v1::NodeSnapshot node = testing::RoceNode({.number = 1, .rails = 9});
  const auto compiled = expression::Expression::Compile(text, EnvironmentOf(v1::SCOPE_PORT));
  const auto& expression = std::get<expression::Expression>(compiled);
  const expression::Value values[] = {{&node},
                                      {&node.rdma_devices(0)},
                                      {&node.rdma_devices(0).ports(0)},
                                      {&node.net_interfaces(1)}};
  const expression::Bindings bindings{.values = values};
  if (expression.Test(bindings) != expression::Truth::kTrue)
    state.SkipWithError("a healthy node does not fulfil it");
  for (auto _ : state) benchmark::DoNotOptimize(expression.Test(bindings));
  state.SetLabel(std::string(text));
}
BENCHMARK(Test)->DenseRange(0, std::size(kExpressions) - 1);

void Compile(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(
        expression::Expression::Compile(kExpressions[4], EnvironmentOf(v1::SCOPE_PORT)));
}
BENCHMARK(Compile);

void EvaluateRule(benchmark::State& state) {
  const v1::NodeSnapshot node = testing::RoceNode({.number = 1, .rails = 9});
  const RuleFile file = LoadRules(
      "rules: [{id: a, title: t, severity: info, scope: port, when: port.state == 'ACTIVE', "
      "check: netdev.mtu_bytes == 9000}]",
      "bench", {});
  for (auto _ : state) {
    const Evaluation evaluation = Evaluate(file.rules[0], node);
    if (evaluation.passes != 9) state.SkipWithError("not healthy");
  }
}
BENCHMARK(EvaluateRule);

}  // namespace
}  // namespace fabric::custom
