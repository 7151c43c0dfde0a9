#include "agents/host/netlink/address_netlink.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <array>
#include <map>

#include "tests/unit/host/datagram.h"
#include "tests/unit/host/fake_kernel.h"

namespace fabric::host {
namespace {

using ::testing::ElementsAre;

Datagram& Begin(Datagram& datagram, int family, std::uint8_t prefix, std::uint32_t index) {
  return datagram.Message(RTM_NEWADDR, NLM_F_MULTI)
      .Header(ifaddrmsg{.ifa_family = static_cast<std::uint8_t>(family),
                        .ifa_prefixlen = prefix,
                        .ifa_index = index});
}

Datagram& Add(Datagram& datagram, int family, int attribute, const char* text) {
  std::array<std::byte, 16> raw{};
  ::inet_pton(family, text, raw.data());
  return datagram.Attribute(attribute, raw.data(), family == AF_INET ? 4 : 16);
}

std::vector<std::string> Texts(const Datagram& datagram) {
  std::vector<std::string> texts;
  const auto addresses = ParseAddresses(datagram.bytes());
  if (!addresses.ok()) return {std::string(CodeName(addresses.status().code()))};
  for (const InterfaceAddress& address : *addresses)
    texts.push_back(std::to_string(address.netdev_index) + " " + address.address);
  return texts;
}

TEST(Addresses, HavePrefixAndNetdev) {
  Datagram datagram;
  Add(Begin(datagram, AF_INET, 24, 2), AF_INET, IFA_LOCAL, "10.10.0.1");
  Add(Begin(datagram, AF_INET6, 64, 3), AF_INET6, IFA_ADDRESS, "fe80::1").Done();
  EXPECT_THAT(Texts(datagram), ElementsAre("2 10.10.0.1/24", "3 fe80::1/64"));
}

TEST(Addresses, OfPointToPointLinksAreOurs) {
  Datagram datagram;
  Begin(datagram, AF_INET, 32, 2);
  Add(datagram, AF_INET, IFA_ADDRESS, "10.0.0.2");
  Add(datagram, AF_INET, IFA_LOCAL, "10.0.0.1");
  EXPECT_THAT(Texts(datagram), ElementsAre("2 10.0.0.1/32"));
}

TEST(Addresses, OfOtherFamiliesAreLeftOut) {
  Datagram datagram;
  Begin(datagram, AF_PHONET, 0, 2).U8(IFA_LOCAL, 1);
  EXPECT_THAT(Texts(datagram), ElementsAre());
}

TEST(Addresses, ThatContradictThemselvesAreRefused) {
  Datagram no_address, wrong_size, long_prefix, short_header;
  Begin(no_address, AF_INET, 24, 2);
  Add(Begin(wrong_size, AF_INET6, 64, 2), AF_INET, IFA_LOCAL, "10.0.0.1");
  Add(Begin(long_prefix, AF_INET, 33, 2), AF_INET, IFA_LOCAL, "10.0.0.1");
  short_header.Message(RTM_NEWADDR).Header(std::uint32_t{AF_INET});
  for (const Datagram& bad : {no_address, wrong_size, long_prefix, short_header})
    EXPECT_THAT(Texts(bad), ElementsAre("INVALID_ARGUMENT"));
}

TEST(LiveAddressNetlink, AsksForAll) {
  FakeKernel kernel;
  kernel.Answer(Datagram().Done());
  EXPECT_TRUE(OpenAddressNetlink(kernel.Client())->Addresses()->empty());
  const Datagram expected =
      Datagram().Message(RTM_GETADDR, NLM_F_REQUEST | NLM_F_DUMP, 1).Header(ifaddrmsg{});
  EXPECT_THAT(kernel.Question(), ::testing::ElementsAreArray(expected.bytes()));
}

TEST(LiveAddressNetlink, FindsLoopback) {
  const auto addresses = OpenAddressNetlink()->Addresses();
  ASSERT_TRUE(addresses.ok()) << addresses.status().message();
  bool found = false;
  for (const InterfaceAddress& address : *addresses)
    found = found || (address.netdev_index == 1 && address.address == "127.0.0.1/8");
  if (!found) GTEST_SKIP() << "loopback is down in this network namespace";
}

TEST(NoAddressNetlink, Refuses) {
  EXPECT_EQ(NoAddressNetlink()->Addresses().status().code(), Code::kUnimplemented);
}

Datagram VlanMessage(std::string_view kind) {
  const ifla_vlan_qos_mapping map[] = {{.from = 0, .to = 3}, {.from = 4, .to = 5}};
  Datagram datagram;
  datagram.Message(RTM_NEWLINK).Header(ifinfomsg{});
  datagram.U32(IFLA_LINK, 4).Begin(IFLA_LINKINFO).Text(IFLA_INFO_KIND, kind);
  datagram.Begin(IFLA_INFO_DATA).Value(IFLA_VLAN_ID, std::uint16_t{100});
  datagram.Begin(IFLA_VLAN_EGRESS_QOS);
  for (const auto& entry : map) datagram.Value(IFLA_VLAN_QOS_MAPPING, entry);
  datagram.End().End().End();
  return datagram;
}

TEST(Vlan, HasIdLowerAndEgressMap) {
  const Datagram datagram = VlanMessage("vlan");
  const auto vlan = ParseVlan(datagram.bytes());
  ASSERT_TRUE(vlan.ok()) << vlan.status().message();
  EXPECT_EQ(vlan->id, 100u);
  EXPECT_EQ(vlan->lower_index, 4u);
  EXPECT_EQ(vlan->egress, (std::map<std::uint32_t, std::uint32_t>{{0, 3}, {4, 5}}));
}

TEST(Vlan, OtherKindsAreNone) {
  EXPECT_EQ(ParseVlan(VlanMessage("macvlan").bytes()).status().code(), Code::kNotFound);
}

TEST(Vlan, TruncatedAnswersAreRefused) {
  const Datagram datagram = VlanMessage("vlan");
  for (std::size_t size = 1; size < datagram.size(); ++size)
    EXPECT_EQ(ParseVlan(datagram.First(size)).status().code(), Code::kInvalidArgument) << size;
}

}  // namespace
}  // namespace fabric::host
