#include "agents/probe/port_choice.h"

#include <gtest/gtest.h>

#include "proto/json.h"

namespace fabric::probe {
namespace {

struct Case {
  const char* name;
  const char* port;  // JSON of the only port, number 1
  std::uint32_t gid_index = 0;
  const char* error = "";
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class ChooseAddressOf : public ::testing::TestWithParam<Case> {};

TEST_P(ChooseAddressOf, APort) {
  v1::RdmaDevice device;
  device.set_name("mlx5_0");
  ASSERT_TRUE(FromJson(GetParam().port, *device.add_ports()).ok());
  device.mutable_ports(0)->set_number(1);

  const auto address = ChooseAddress(device, 1);

  EXPECT_EQ(address.status().message(), GetParam().error);
  if (address.ok()) {
    EXPECT_EQ(address->gid_index, GetParam().gid_index);
    EXPECT_EQ(address->gid, "g");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ports, ChooseAddressOf,
    ::testing::Values(
        Case{.name = "prefers the IPv4-mapped RoCE v2 GID",
             .port = R"({"state": 4, "link_layer": 2, "gids": [
                 {"index": 0, "gid": "x", "type": 3, "link_local": true},
                 {"index": 1, "gid": "x", "type": 3},
                 {"index": 2, "gid": "x", "type": 2, "ipv4": "10.0.0.1"},
                 {"index": 3, "gid": "g", "type": 3, "ipv4": "10.0.0.1"}]})",
             .gid_index = 3},
        Case{.name = "takes a routable IPv6 GID",
             .port = R"({"state": 4, "link_layer": 2, "gids": [
                 {"index": 0, "gid": "x", "type": 3, "link_local": true},
                 {"index": 5, "gid": "g", "type": 3}]})",
             .gid_index = 5},
        Case{.name = "refuses a port with nothing but link-local GIDs",
             .port = R"({"state": 4, "link_layer": 2, "gids": [
                 {"index": 0, "gid": "x", "type": 3, "link_local": true}]})",
             .error = "mlx5_0/1: port has no RoCE v2 GID but link-local ones"},
        Case{.name = "refuses RoCE v1 alone",
             .port = R"({"state": 4, "link_layer": 2, "gids": [
                 {"index": 2, "gid": "x", "type": 2, "ipv4": "10.0.0.1"}]})",
             .error = "mlx5_0/1: port has no RoCE v2 GID but link-local ones"},
        Case{.name = "refuses a port that is down",
             .port = R"({"state": 1, "link_layer": 2})",
             .error = "mlx5_0/1: port is DOWN"},
        Case{.name = "refuses a port of unknown state",
             .port = R"({"link_layer": 2})",
             .error = "mlx5_0/1: the port state is unknown"},
        Case{.name = "takes GID 0 on InfiniBand",
             .port =
                 R"({"state": 4, "link_layer": 1, "lid": 3, "gids": [{"index": 0, "gid": "g"}]})",
             .gid_index = 0},
        Case{.name = "refuses InfiniBand without a LID",
             .port = R"({"state": 4, "link_layer": 1, "gids": [{"index": 0, "gid": "g"}]})",
             .error = "mlx5_0/1: port has no LID"}));

TEST(ChooseAddress, TakesTheGidThatAJobAsksForOrNone) {
  v1::RdmaDevice device;
  device.set_name("mlx5_0");
  ASSERT_TRUE(FromJson(R"({"number": 1, "state": 4, "link_layer": 2, "gids": [
                 {"index": 0, "gid": "x", "type": 3, "link_local": true},
                 {"index": 3, "gid": "g", "type": 3, "ipv4": "10.0.0.1"}]})",
                       *device.add_ports())
                  .ok());
  EXPECT_EQ(ChooseAddress(device, 1, 0)->gid, "x");
  EXPECT_EQ(ChooseAddress(device, 1, 2).status().message(), "mlx5_0/1: port has no GID 2");
}

TEST(ChooseAddress, RefusesAPortThatIsNotThere) {
  v1::RdmaDevice device;
  device.set_name("mlx5_0");
  EXPECT_EQ(ChooseAddress(device, 2).status().message(), "mlx5_0/2: no such port");
}

}  // namespace
}  // namespace fabric::probe
