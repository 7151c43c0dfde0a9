// Subnets made for tests, and the files that tools would write about them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "subnet/model.h"

namespace fabric::subnet::testing {

// The subnet of one file, which must have a known format.
Subnet ReadText(const std::string& text, const std::string& file = "net.txt");
std::vector<std::string> ProblemTexts(const Problems& problems);

struct TestNode {
  bool is_switch = false;
  std::uint64_t guid = 0;
  std::uint32_t lid = 0;
  std::uint32_t ports = 0;
  std::string name;
  std::vector<std::uint8_t> routes = {};  // Of a switch, by LID
};

struct TestCable {
  std::uint32_t from = 0;
  std::uint32_t from_port = 0;
  std::uint32_t to = 0;
  std::uint32_t to_port = 0;
  std::string rate = "4xHDR";
};

struct TestSubnet {
  std::vector<TestNode> nodes = {};
  std::vector<TestCable> cables = {};

  std::uint32_t AddSwitch(const std::string& name, std::uint32_t ports = 64);
  std::uint32_t AddHost(const std::string& name);
  // On the next free ports. Returns the index of the cable.
  std::size_t Connect(std::uint32_t from, std::uint32_t to);
  // Shortest paths, spread over the ports like opensm does with "minhop".
  void Route();

  std::string Ibnetdiscover() const;
  std::string SubnetList() const;  // opensm-subnet.lst: each cable twice, by device
  std::string Lfts() const;        // As dump_lfts, without the last LID if it is a multiple of 64
  // From both texts; without tables if Route() was not called.
  Subnet Read() const;

  std::uint32_t Find(const std::string& name) const;

 private:
  std::vector<std::uint32_t> next_port_ = {};
};

// Leaves with `hosts` each, all connected to all spines by `trunk` cables. With rails, host h of a
// group of `rails` leaves has adapter i on leaf i.
struct FatTree {
  std::uint32_t leaves = 4;
  std::uint32_t spines = 2;
  std::uint32_t hosts = 8;
  std::uint32_t trunk = 1;
  std::uint32_t rails = 1;
};
TestSubnet Make(const FatTree& tree);

// Three levels: pods of leaves and spines below common cores.
struct Pods {
  std::uint32_t pods = 3;
  std::uint32_t leaves = 3;  // Of a pod
  std::uint32_t spines = 2;  // Of a pod
  std::uint32_t cores = 4;
  std::uint32_t hosts = 4;    // Of a leaf
  std::uint32_t uplinks = 2;  // Of a spine
};
TestSubnet Make(const Pods& pods);

}  // namespace fabric::subnet::testing
