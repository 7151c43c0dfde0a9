// Requested ports of a certificate and their results so far. Pure.
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

// A requested port.
struct AskedPort {
  v1::ProbePort port;
  v1::LinkLayer network = v1::LINK_LAYER_UNSPECIFIED;
  std::string leaf;                              // Empty: unknown
  std::optional<v1::CoverageGap> obstacle = {};  // Reason why it was not planned; empty: it was
  std::string probe_failure;                     // Reason why a probe of it did not run
  std::uint32_t partners = 0;                    // Possible partners
  std::uint32_t passed = 0;                      // Partners with successful probes
  std::uint32_t failed = 0;                      // Partners with a failed probe
  std::uint32_t late = 0;  // Of these, timeouts of its own agent, which show nothing
  std::uint32_t away = 0;  // Probes for which its agent was not connected
};

// A pair that failed, by index of its ports.
struct FailedPair {
  std::size_t from = 0;
  std::size_t to = 0;
  // The end that failed on its own: no answer, or no queue pair.
  std::optional<std::size_t> blamed = {};
  std::string reason = {};  // Of the first failure
};

class CertificateWork {
 public:
  // `alone`: a single node, its ports are probed with themselves.
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
