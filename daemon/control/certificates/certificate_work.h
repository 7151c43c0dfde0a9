// What is seen while a certificate is being made: the ports that were asked for and what came of
// them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

// A port that was asked for.
struct AskedPort {
  v1::ProbePort port;
  v1::LinkLayer network = v1::LINK_LAYER_UNSPECIFIED;
  std::string leaf;            // Empty: not known
  std::string obstacle;        // Why it was not planned; empty: it was
  std::string told;            // Why a probe of it did not run
  std::uint32_t partners = 0;  // That it may be probed with
  std::uint32_t good = 0;      // Of these with which it was well
  std::uint32_t bad = 0;       // With which a probe failed
  std::uint32_t late = 0;      // Of these where its own agent was late, so that nothing was seen
  std::uint32_t away = 0;      // Probes for which its agent was not there
};

// A pair that failed, by index of its ports.
struct FailedPair {
  std::size_t from = 0;
  std::size_t to = 0;
  // The end that failed by itself: it did not answer, or could not make a queue pair.
  std::optional<std::size_t> blamed = {};
  std::string reason = {};  // Of its first failure
};

class CertificateWork {
 public:
  // `alone`: one node, whose ports are probed with themselves.
  CertificateWork(std::vector<AskedPort> ports, bool alone);

  void Take(const v1::PairResult& result);

  const std::vector<AskedPort>& ports() const { return ports_; }
  const std::vector<FailedPair>& failed() const { return failed_; }
  std::size_t pairs_probed() const;
  std::size_t pairs_possible() const { return pairs_possible_; }
  bool alone() const { return alone_; }

 private:
  using Pair = std::pair<std::size_t, std::size_t>;

  std::vector<AskedPort> ports_;
  std::map<std::string, std::size_t> index_;  // By name
  std::set<Pair> good_, bad_;
  std::vector<FailedPair> failed_;
  std::size_t pairs_possible_ = 0;
  bool alone_ = false;
};

}  // namespace fabric::control
