// What expressions say about a port, and when they say that they do not know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "daemon/expression/expression.h"
#include "fabric/v1/inventory.pb.h"
#include "proto/json.h"

namespace fabric::expression {
namespace {

constexpr std::string_view kNode = R"({
  "node": {"name": "n1"},
  "rdma_devices": [{"name": "mlx5_0", "driver": "mlx5_core", "numa_node": -1, "ports": [{
    "number": 1, "state": "PORT_STATE_ACTIVE", "rate_bps": "400000000000", "netdev": "rail0",
    "active_mtu_bytes": 4096, "gids": [
      {"index": 0, "gid": "fe80::1", "type": "GID_TYPE_ROCE_V1", "link_local": true},
      {"index": 1, "gid": "::ffff:10.0.0.1", "type": "GID_TYPE_ROCE_V2", "ipv4": "10.0.0.1"},
      {"index": 2, "gid": "::ffff:10.0.0.2"}]}]}],
  "net_interfaces": [{"name": "rail0", "mtu_bytes": 9000, "oper_state": "OPER_STATE_UP",
    "dcb": {"pfc": {"enabled_mask": 8}, "ets": {"tc_tx_bandwidth_percent": [50, 0, 50]}}}],
  "time_sync": {"offset_seconds": 0.25}})";

Value CountCalls(const Call& call) {
  const auto name = *call.arguments[0].As<std::string_view>();
  if (name == "pause") return {*static_cast<const std::int64_t*>(call.context)};
  return {Unknown{.absent = true}};
}

class Evaluate : public ::testing::Test {
 protected:
  Evaluate() {
    const Status status = FromJson(kNode, node_);
    EXPECT_TRUE(status.ok()) << status.message();
    values_[0] = {&node_};
    values_[1] = {&node_.rdma_devices(0)};
    values_[2] = {&node_.rdma_devices(0).ports(0)};
    values_[3] = {&node_.net_interfaces(0)};
  }

  Expression Compiled(std::string_view text) const {
    static const Variable kVariables[] = {
        {"node", MessageType(*v1::NodeSnapshot::descriptor())},
        {"device", MessageType(*v1::RdmaDevice::descriptor())},
        {"port", MessageType(*v1::Port::descriptor())},
        {"netdev", MessageType(*v1::NetInterface::descriptor())},
        {"peer", MessageType(*v1::NetInterface::descriptor())},
    };
    static constexpr Function kFunctions[] = {
        {.name = "counter",
         .parameters = {Function::Parameter::kText},
         .result = Type::Kind::kInt,
         .reads = true,
         .call = CountCalls},
    };
    auto compiled = Expression::Compile(text, {.variables = kVariables, .functions = kFunctions});
    if (const auto* error = std::get_if<Error>(&compiled)) {
      ADD_FAILURE() << text << ":" << error->at + 1 << ": " << error->message;
      return Compiled("false");
    }
    return std::get<Expression>(std::move(compiled));
  }

  Bindings Bound() const { return {.values = values_, .context = &count_}; }
  Explanation Explained(std::string_view text) const { return Compiled(text).Explain(Bound()); }

  // The value as text, or "unknown: why".
  std::string Says(std::string_view text) const {
    const Explanation explanation = Explained(text);
    return (explanation.known ? "" : "unknown: ") + explanation.text;
  }

  v1::NodeSnapshot node_;
  std::int64_t count_ = 7;
  std::array<Value, 5> values_;  // The peer is not there
};

struct EvaluateCase {
  std::string_view text;
  std::string_view says;
};

TEST_F(Evaluate, Literals) {
  constexpr EvaluateCase kCases[] = {
      {"7", "7"},
      {"7u", "7"},
      {"0x1F", "31"},
      {"-5", "-5"},
      {"1.5", "1.5"},
      {"2e3", "2000"},
      {"true", "true"},
      {"'a b'", "a b"},
      {R"("it's")", "it's"},
      {R"('it\'s\\')", R"(it's\)"},
      {R"(r'\d')", R"(\d)"},
      {"[1, 2]", "[1, 2]"},
      {"[]", "empty"},
      {"18446744073709551615", "18446744073709551615"},
      {"PORT_STATE_ACTIVE", "ACTIVE"},
      {"-9223372036854775808", "-9223372036854775808"},
  };
  for (const EvaluateCase& row : kCases) EXPECT_EQ(Says(row.text), row.says) << row.text;
}

TEST_F(Evaluate, OperatorsAndTheirStrength) {
  constexpr EvaluateCase kCases[] = {
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"10 - 2 - 3", "5"},
      {"7 / 2", "3"},
      {"7 / 2.0", "3.5"},
      {"-7 % 3", "-1"},
      {"1 + 1 == 2 && !false", "true"},
      {"true || false && false", "true"},
      {"false ? 1 : true ? 2 : 3", "2"},
      {"2 == 2.0", "true"},
      {"1 < 1.5 && 1.5 <= 2 && 3 > 2 && 2 >= 2", "true"},
      {"'a' < 'b' && 'a' + 'b' == 'ab'", "true"},
      {"3 in [1, 2, 3]", "true"},
      {"4 in [1, 2, 3]", "false"},
      {"[1, 2] == [1, 2.0]", "true"},
      {"[1] == []", "false"},
      {"[10, 20, 30][1]", "20"},
      {"!!true", "true"},
      {"- -3", "3"},
      {"18446744073709551615 > 9223372036854775807", "true"},
      {"bit(8, 3) && !bit(8, 2)", "true"},
      {"9 - 10", "-1"},
  };
  for (const EvaluateCase& row : kCases) EXPECT_EQ(Says(row.text), row.says) << row.text;
}

TEST_F(Evaluate, Functions) {
  constexpr EvaluateCase kCases[] = {
      {"size('µs')", "2"},
      {"'abc'.size() + size([1])", "4"},
      {"'mlx5_0'.startsWith('mlx5') && 'a.cc'.endsWith('.cc') && 'abc'.contains('b')", "true"},
      {R"('28.39.1002'.matches(r'^28\.\d+\.'))", "true"},
      {"'x'.matches('y')", "false"},
      {"string(42) + string(true) + string(port.state)", "42trueACTIVE"},
      {"int('12') + int(3.9)", "15"},
      {"double('0.5') * 2", "1"},
      {"counter('pause') > 0", "true"},
  };
  for (const EvaluateCase& row : kCases) EXPECT_EQ(Says(row.text), row.says) << row.text;
}

TEST_F(Evaluate, EdgesOfNumbersAndTexts) {
  constexpr EvaluateCase kCases[] = {
      {"7 % -3", "1"},
      {"-7 / 2", "-3"},
      {"1.5 + 1", "2.5"},
      {"-0x10", "-16"},
      {"9223372036854775807 + 1", "9223372036854775808"},
      {"-9223372036854775808 - 1", "unknown: the result is not a 64-bit number"},
      {"bit(18446744073709551615, 63)", "true"},
      {"bit(1, -1)", "unknown: expected a bit from 0 to 63"},
      {"int(-3.9)", "-3"},
      {"int(7)", "7"},
      {"int('9223372036854775808')", "unknown: the text is not an int"},
      {"int('')", "unknown: the text is not an int"},
      {"double(2) == 2", "true"},
      {"double('1.5x')", "unknown: the text is not a number"},
      {"''.size()", "0"},
      {"'abc'.contains('') && 'abc'.startsWith('')", "true"},
      {"'b' > 'a' && 'a' < 'aa'", "true"},
      {"'' in ['']", "true"},
      {"1 in [1.0]", "true"},
  };
  for (const EvaluateCase& row : kCases) EXPECT_EQ(Says(row.text), row.says) << row.text;
}

TEST_F(Evaluate, MacrosOverAnEmptyList) {
  constexpr EvaluateCase kCases[] = {
      {"port.pkeys.size()", "0"},
      {"port.pkeys.all(k, k == 1)", "true"},
      {"port.pkeys.exists(k, k == 1)", "false"},
      {"port.pkeys.exists_one(k, k == 1)", "false"},
      {"port.pkeys.filter(k, k == 1).size()", "0"},
      {"port.pkeys.map(k, k + 1).size()", "0"},
      {"port.pkeys[0] == 1", "unknown: port.pkeys[0] is absent: the list has 0"},
  };
  for (const EvaluateCase& row : kCases) EXPECT_EQ(Says(row.text), row.says) << row.text;
}

TEST_F(Evaluate, FieldsOfTheSnapshot) {
  constexpr EvaluateCase kCases[] = {
      {"node.node.name", "n1"},
      {"device.numa_node", "-1"},
      {"port.rate_bps == 400000000000", "true"},
      {"port.state == 'ACTIVE'", "true"},
      {"'PORT_STATE_ACTIVE' == port.state", "true"},
      {"port.state == PORT_STATE_ACTIVE", "true"},
      {"port.state != 'DOWN' && port.state in ['INIT', 'ACTIVE']", "true"},
      {"netdev.dcb.pfc.enabled_mask == 8 && bit(netdev.dcb.pfc.enabled_mask, 3)", "true"},
      {"netdev.dcb.ets.tc_tx_bandwidth_percent == [50, 0, 50]", "true"},
      {"port.gids.size()", "3"},
      {"port.gids[1].ipv4", "10.0.0.1"},
      {"port.gids", "3 entries"},
      {"port.gids.exists(g, g.type == 'ROCE_V2' && !g.link_local)", "true"},
      {"port.gids.exists_one(g, g.index == 0)", "true"},
      {"port.gids.filter(g, g.index > 0).map(g, g.index)", "[1, 2]"},
      {"node.net_interfaces.filter(n, n.name == port.netdev)[0].mtu_bytes", "9000"},
      {"node.time_sync.offset_seconds < 1", "true"},
      {"node.rdma_devices.all(d, d.ports.all(p, p.number == 1))", "true"},
      {"has(netdev.dcb.pfc)", "true"},
      {"has(netdev.dcb.trust)", "false"},
      {"has(netdev.global_pause.rx)", "false"},
      {"has(peer)", "false"},
      {"has(peer.dcb.pfc)", "false"},
      {"has(port.gids) && !has(port.pkeys)", "true"},
  };
  for (const EvaluateCase& row : kCases) EXPECT_EQ(Says(row.text), row.says) << row.text;
}

TEST_F(Evaluate, WhatIsAbsentMakesTheAnswerUnknown) {
  constexpr EvaluateCase kCases[] = {
      {"port.sm_lid == 1", "unknown: port.sm_lid is absent"},
      {"port.sm_lid != 1", "unknown: port.sm_lid is absent"},
      {"!(port.sm_lid == 1)", "unknown: port.sm_lid is absent"},
      {"netdev.global_pause.rx", "unknown: netdev.global_pause is absent"},
      {"peer.mtu_bytes > 0", "unknown: peer is absent"},
      {"port.sm_lid + 1 > 0", "unknown: port.sm_lid is absent"},
      {"port.sm_lid in [1, 2]", "unknown: port.sm_lid is absent"},
      {"port.gids[7].index == 0", "unknown: port.gids[7] is absent: the list has 3"},
      {"port.gids[-1].index == 0", "unknown: port.gids[-1] is absent: the list has 3"},
      {"counter('nothing') == 0", "unknown: counter('nothing') is absent"},
      {"port.gids.all(g, has(g.type) || g.type == 'ROCE_V2')",
       "unknown: port.gids[2].type is absent"},
      {"port.gids.filter(g, g.type == 'ROCE_V2').size() == 1",
       "unknown: port.gids[2].type is absent"},
      // An enumeration that says UNSPECIFIED says nothing.
      {"device.function.role == 'FABRIC'", "unknown: device.function is absent"},
  };
  for (const EvaluateCase& row : kCases) EXPECT_EQ(Says(row.text), row.says) << row.text;
}

TEST_F(Evaluate, WhatDoesNotDependOnTheUnknownIsKnown) {
  constexpr EvaluateCase kCases[] = {
      {"port.sm_lid == 1 && false", "false"},
      {"false && port.sm_lid == 1", "false"},
      {"port.sm_lid == 1 || true", "true"},
      {"true || port.sm_lid == 1", "true"},
      {"port.sm_lid == 1 && true", "unknown: port.sm_lid is absent"},
      {"false || port.sm_lid == 1", "unknown: port.sm_lid is absent"},
      {"true ? 1 : port.sm_lid", "1"},
      {"port.sm_lid == 1 ? 1 : 1", "unknown: port.sm_lid is absent"},
      {"port.gids.exists(g, g.type == 'ROCE_V2')", "true"},
      {"port.gids.exists(g, g.type == 'INFINIBAND')", "unknown: port.gids[2].type is absent"},
      {"port.gids.all(g, g.type == 'ROCE_V2')", "false"},
      {"port.gids.exists_one(g, g.type != 'INFINIBAND')", "false"},
      {"port.gids.exists_one(g, g.type == 'ROCE_V2')", "unknown: port.gids[2].type is absent"},
      {"!has(port.sm_lid) || port.sm_lid != 0", "true"},
  };
  for (const EvaluateCase& row : kCases) EXPECT_EQ(Says(row.text), row.says) << row.text;
}

TEST_F(Evaluate, TestAgreesWithExplain) {
  EXPECT_EQ(Compiled("port.number == 1").Test(Bound()), Truth::kTrue);
  EXPECT_EQ(Compiled("port.number == 2").Test(Bound()), Truth::kFalse);
  EXPECT_EQ(Compiled("port.sm_lid == 2").Test(Bound()), Truth::kUnknown);
}

TEST_F(Evaluate, UnspecifiedIsNotKnown) {
  node_.mutable_rdma_devices(0)->mutable_function()->set_reason("none");
  EXPECT_EQ(Says("device.function.role == 'FABRIC'"), "unknown: device.function.role is absent");
  EXPECT_EQ(Says("has(device.function.role)"), "false");
}

TEST_F(Evaluate, ArithmeticThatHasNoResultIsUnknown) {
  constexpr EvaluateCase kCases[] = {
      {"1 / 0", "unknown: division by zero"},
      {"1 % 0", "unknown: division by zero"},
      {"1 / 0.0", "unknown: division by zero"},
      {"18446744073709551615 + 1", "unknown: the result is not a 64-bit number"},
      {"18446744073709551615 * 18446744073709551615 * 9",
       "unknown: the result is not a 64-bit number"},
      {"bit(1, 64)", "unknown: expected a bit from 0 to 63"},
      {"int('x')", "unknown: the text is not an int"},
      {"int(1e30)", "unknown: the number is too large for an int"},
  };
  for (const EvaluateCase& row : kCases) EXPECT_EQ(Says(row.text), row.says) << row.text;
}

TEST_F(Evaluate, TooManyStepsAreUnknownAndSoon) {
  v1::Port& port = *node_.mutable_rdma_devices(0)->mutable_ports(0);
  for (int i = 0; i < 1000; ++i) port.add_pkeys(0xffff);
  EXPECT_EQ(Says("port.pkeys.all(a, port.pkeys.all(b, a == b))"), "unknown: too many steps");
  EXPECT_EQ(Says("port.pkeys.all(a, a == 0xffff)"), "true");
  std::string doubled = "'0123456789abcdef'";
  for (int i = 0; i < 12; ++i) doubled = "(" + doubled + ")";
  EXPECT_EQ(Says("['x'].map(a, " + doubled + " + a).size()"), "1");
}

TEST_F(Evaluate, ExplainTellsWhatWasRead) {
  const Explanation explanation = Explained(
      "netdev.mtu_bytes == 1500 || port.gids.exists(g, g.type == 'INFINIBAND') || "
      "has(netdev.dcb.trust) || netdev.mtu_bytes == 4200 || counter('pause') == 8");
  std::vector<std::string> reads;
  for (const Read& read : explanation.reads) reads.push_back(read.path + " = " + read.seen);
  EXPECT_THAT(reads,
              ::testing::ElementsAre("netdev.mtu_bytes = 9000", "port.gids = 3 entries",
                                     "port.gids[0].type = ROCE_V1", "port.gids[1].type = ROCE_V2",
                                     "port.gids[2].type = absent", "netdev.dcb.trust = absent",
                                     "counter('pause') = 7"));
}

TEST_F(Evaluate, Templates) {
  const auto rendered = [&](std::string_view text) -> std::string {
    static const Variable kVariables[] = {
        {"node", MessageType(*v1::NodeSnapshot::descriptor())},
        {"device", MessageType(*v1::RdmaDevice::descriptor())},
        {"port", MessageType(*v1::Port::descriptor())},
    };
    auto compiled = Template::Compile(text, {.variables = kVariables});
    if (const auto* error = std::get_if<Error>(&compiled))
      return Format("{}: {}", error->at + 1, error->message);
    return std::get<Template>(compiled).Render(Bound());
  };
  EXPECT_EQ(rendered("no expression"), "no expression");
  EXPECT_EQ(rendered("${device.name}/${port.number} is ${port.state}"), "mlx5_0/1 is ACTIVE");
  EXPECT_EQ(rendered("SM ${port.sm_lid}"), "SM ?");
  EXPECT_EQ(rendered("echo $${HOME} $1"), "echo ${HOME} $1");
  EXPECT_EQ(rendered("a ${port.nam}"), "10: unknown Port field 'nam'");
  EXPECT_EQ(rendered("a ${port"), "3: expected '}' after '${'");
}

}  // namespace
}  // namespace fabric::expression
