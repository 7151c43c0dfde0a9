// Expressions: whatever the text is, it is compiled or refused in one line with a place inside of
// the text, and what was compiled ends, says the same twice, and never reads what is not there.
#include "daemon/expression/expression.h"
#include "fabric/v1/inventory.pb.h"
#include "tests/fuzz/fuzz.h"

using fabric::expression::Bindings;
using fabric::expression::Error;
using fabric::expression::Explanation;
using fabric::expression::Expression;
using fabric::expression::MessageType;
using fabric::expression::Template;
using fabric::expression::Truth;
using fabric::expression::Type;
using fabric::expression::Unknown;
using fabric::expression::Value;
using fabric::expression::Variable;
using fabric::fuzz::Check;

namespace {

fabric::v1::NodeSnapshot MakeNode() {
  fabric::v1::NodeSnapshot node;
  node.mutable_node()->set_name("n1");
  auto& device = *node.add_rdma_devices();
  device.set_name("mlx5_0");
  auto& port = *device.add_ports();
  port.set_number(1);
  port.set_state(fabric::v1::PORT_STATE_ACTIVE);
  port.set_rate_bps(400'000'000'000);
  for (unsigned i = 0; i < 20; ++i) {
    port.add_pkeys(0xffff - i);
    port.add_gids()->set_index(i);
  }
  node.add_net_interfaces()->set_name("rail0");
  return node;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fabric::v1::NodeSnapshot node = MakeNode();
  static const Variable variables[] = {
      {"node", MessageType(*fabric::v1::NodeSnapshot::descriptor())},
      {"port", MessageType(*fabric::v1::Port::descriptor())},
      {"netdev", MessageType(*fabric::v1::NetInterface::descriptor())},
  };
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Value values[] = {{&node}, {&node.rdma_devices(0).ports(0)}, {Unknown{.absent = true}}};
  const Bindings bindings{.values = values};
  const auto compiled = Expression::Compile(text, {.variables = variables});
  if (const auto* error = std::get_if<Error>(&compiled)) {
    Check(error->at <= size, "the place of an error is in the text");
    Check(!error->message.empty(), "an error has a message");
    Check(error->message.find('\n') == std::string::npos, "an error is one line");
  } else {
    const auto& expression = std::get<Expression>(compiled);
    const Explanation explanation = expression.Explain(bindings);
    Check(explanation.known || !explanation.text.empty(), "what is unknown has a reason");
    Check(explanation.reads.size() <= fabric::expression::kReadsMax, "evidence is bounded");
    const Truth truth = expression.Test(bindings);
    if (truth != Truth::kUnknown)
      Check(explanation.text == (truth == Truth::kTrue ? "true" : "false"), "both say the same");
  }
  const auto shown = Template::Compile(text, {.variables = variables});
  if (const auto* ready = std::get_if<Template>(&shown)) ready->Render(bindings);
  return 0;
}
