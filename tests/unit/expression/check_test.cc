// What is refused when it is compiled, at which column, and in which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "daemon/expression/expression.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::expression {
namespace {

using ::testing::HasSubstr;

const Environment& PortEnvironment() {
  static const Variable kVariables[] = {
      {"node", MessageType(*v1::NodeSnapshot::descriptor())},
      {"device", MessageType(*v1::RdmaDevice::descriptor())},
      {"port", MessageType(*v1::Port::descriptor())},
      {"netdev", MessageType(*v1::NetInterface::descriptor())},
  };
  static const Environment kEnvironment{.variables = kVariables};
  return kEnvironment;
}

// "7: what is wrong", the column counted from 1; empty: it compiles.
std::string Refused(std::string_view text, std::optional<Type::Kind> wanted = {}) {
  const auto compiled = Expression::Compile(text, PortEnvironment(), wanted);
  const auto* error = std::get_if<Error>(&compiled);
  return error == nullptr ? "" : Format("{}: {}", error->at + 1, error->message);
}

struct Case {
  std::string_view text;
  std::string_view error;
};

TEST(Parse, MistakesWithTheirColumns) {
  constexpr Case kCases[] = {
      {"", "1: expected a value, saw the end"},
      {"1 +", "4: expected a value, saw the end"},
      {"(1", "3: expected ')', saw the end"},
      {"1 2", "3: expected an operator or the end, saw '2'"},
      {"[1, 2", "6: expected ']', saw the end"},
      {"port.", "6: expected the name of a field, saw the end"},
      {"port.number = 1", "13: unexpected '='; use '==' to compare"},
      {"port.number & 1", "13: unexpected '&'; use '&&', or bit(mask, n)"},
      {"'abc", "1: unterminated text: expected a closing quote"},
      {R"('a\d')", R"(3: unknown escape '\d'; use \\ for a backslash, or r'...')"},
      {"12monkeys", "1: expected a number, saw '12monkeys'"},
      {"18446744073709551616", "1: expected a number, saw '18446744073709551616'"},
      {"0x", "1: expected a number, saw '0x'"},
      {"1 < 2 < 3", "7: comparisons cannot be chained: use a < b && b < c"},
      {"true ? 1", "9: expected ':', saw the end"},
      {"port.gids.all(1, true)", "15: expected the name of a variable, as in all(x, ...), saw '1'"},
      {"port.gids.all(g)", "16: expected ',', saw ')'"},
      {"netdev == null", "11: null is not supported: use has(x.y) to test for presence"},
      {")", "1: expected a value, saw ')'"},
      {"port.gids[", "11: expected a value, saw the end"},
      {"true | false", "6: unexpected '|'; use '||', or bit(mask, n)"},
      {"port.number == 1 # why", "18: unexpected character '#'"},
  };
  for (const Case& row : kCases) EXPECT_EQ(Refused(row.text), row.error) << row.text;
}

TEST(Check, UnknownNamesWithWhatWasMeant) {
  constexpr Case kCases[] = {
      {"prot.number == 1", "1: unknown name 'prot'; did you mean 'port'?"},
      {"x == 1", "1: unknown name 'x'; expected node, device, port, netdev"},
      {"port.numbr == 1", "6: unknown Port field 'numbr'; did you mean 'number'?"},
      {"netdev.dcb.pfc.mask == 8", "16: unknown Pfc field 'mask'"},
      {"port.number.x", "13: int has no fields, so no 'x'"},
      {"port.gids.type",
       "11: list of Gid has no fields, so no 'type'; index it, or use exists() or all()"},
      {"siez(port.gids)", "1: unknown function 'siez'; did you mean 'size'?"},
      {"port.netdev.startswith('e')",
       "13: unknown method 'startswith'; did you mean 'startsWith'?"},
      {"startsWith(port.netdev, 'e')", "1: unknown function 'startsWith'"},
      {"port.state == 'ACTVE'",
       "15: 'ACTVE' is not a PortState; expected one of DOWN, INIT, ARMED, ACTIVE, ACTIVE_DEFER"},
      {"port.state in ['ACTIVE', 'UP']",
       "26: 'UP' is not a PortState; expected one of DOWN, INIT, ARMED, ACTIVE, ACTIVE_DEFER"},
  };
  for (const Case& row : kCases) EXPECT_EQ(Refused(row.text), row.error) << row.text;
}

TEST(Check, TypesThatDoNotFit) {
  constexpr Case kCases[] = {
      {"port.number == '1'", "13: cannot compare int with string"},
      {"port.state < 'ACTIVE'",
       "12: cannot compare PortState with string; an enumeration is compared by '==' with a name "
       "in quotes"},
      {"port.state == OPER_STATE_UP",
       "12: cannot compare PortState with OperState; an enumeration is compared by '==' with a "
       "name in quotes"},
      {"netdev.dcb == netdev.dcb", "12: cannot compare DcbConfig with DcbConfig"},
      {"port.number && true", "6: '!', '&&' and '||' require bools, saw int"},
      {"!port.number", "7: '!', '&&' and '||' require bools, saw int"},
      {"port.number + 'a'",
       "13: arithmetic requires numbers (or '+' two strings; see string()), saw string"},
      {"-port.netdev", "1: arithmetic requires numbers, saw string"},
      {"1.5 % 2", "5: '%' requires ints, saw double"},
      {"port.number ? 1 : 2", "6: '?' requires a bool condition, saw int"},
      {"true ? 1 : 'a'", "6: both sides of ':' must have one type, saw int and string"},
      {"[1, 'a']", "5: list elements must have one type: expected int, saw string"},
      {"port.number[0]", "12: only lists can be indexed, saw int"},
      {"port.gids['a']", "11: an index must be an int, saw string"},
      {"1 in 2", "6: 'in' requires a list, saw int"},
      {"'a' in port.netdev", "13: 'in' requires a list (for texts use contains()), saw string"},
      {"'a' in [1]", "5: cannot look for string in a list of int"},
      {"port.all(x, true)", "6: macros require a list, saw Port"},
      {"port.gids.all(g, g.index)",
       "20: the second argument of this macro must be a bool, saw int"},
      {"has(port.number + 1)", "17: has() takes a path, as in has(netdev.dcb)"},
      {"has()", "1: has() takes one path, as in has(netdev.dcb)"},
      {"size(port.number)", "1: size() takes a list, saw int"},
      {"bit(port.netdev, 3)", "1: bit() takes an int and an int, saw string and int"},
      {"port.netdev.startsWith()", "13: startsWith() takes a string and a string, saw string"},
      {"string(port)", "1: string() takes a single value, saw Port"},
      {"port.netdev.matches(port.speed)",
       "13: matches() takes a string and a written-out pattern, saw string and string"},
      {"port.netdev.matches('a(')", "21: invalid pattern: missing ): a("},
  };
  for (const Case& row : kCases) EXPECT_EQ(Refused(row.text), row.error) << row.text;
}

TEST(Check, TheResultIsOfTheWantedType) {
  EXPECT_EQ(Refused("port.number", Type::Kind::kBool), "6: expected a bool, saw int");
  EXPECT_EQ(Refused("port.number == 1", Type::Kind::kBool), "");
}

TEST(Limits, OfLengthAndDepth) {
  EXPECT_EQ(Refused("true" + std::string(kTextBytesMax, ' ')),
            "1: too long: 4100 bytes, at most 4096");
  EXPECT_THAT(Refused(std::string(1000, '(') + "1" + std::string(1000, ')')),
              HasSubstr("nested deeper than 48 levels"));
  EXPECT_THAT(Refused(std::string(1000, '[') + std::string(1000, ']')),
              HasSubstr("nested deeper than 48 levels"));
  EXPECT_THAT(Refused(std::string(1000, '!') + "true"), HasSubstr("nested deeper than 48 levels"));
  std::string sum = "1";
  for (int i = 0; i < 1000; ++i) sum += "+1";
  EXPECT_THAT(Refused(sum), HasSubstr("nested deeper than 48 levels"));
  // A long row of conditions is no depth.
  std::string row = "true";
  for (int i = 0; i < 400; ++i) row += "&&true";
  EXPECT_EQ(Refused(row), "");
}

TEST(Limits, MacrosInsideOfMacrosAreTooCostly) {
  constexpr std::string_view kThree =
      "node.rdma_devices.all(d, d.ports.all(p, p.gids.exists(g, g.type == 'ROCE_V2')))";
  EXPECT_EQ(Refused(kThree), "");
  constexpr std::string_view kFour =
      "node.rdma_devices.all(d, d.ports.all(p, p.gids.all(g, p.gids.all(h, g.gid != h.gid))))";
  EXPECT_EQ(Refused(kFour), "19: too costly: nested macros multiply the number of steps");
}

}  // namespace
}  // namespace fabric::expression
