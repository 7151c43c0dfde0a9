#include "agents/host/address_netlink.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include <array>

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

}  // namespace
}  // namespace fabric::host
