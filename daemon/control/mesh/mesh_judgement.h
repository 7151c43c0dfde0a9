// Judgement of the mesh in short steps: reads the counts of some pairs at a time, then asks blame
// without the state of the controller.
//
//   Count, until false ──► Collect, until false ──► Ask, without the state ──► answer
//
// Windows that are counted in between are part of the pairs that are read after them.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "daemon/control/fleet_numbers.h"
#include "daemon/control/mesh/mesh_counts.h"
#include "daemon/control/mesh/mesh_layout.h"
#include "daemon/control/probing/located_faults.h"
#include "daemon/control/probing/probe_coverage.h"
#include "fabric/v1/blame.pb.h"
#include "fabric/v1/finding.pb.h"
#include "fabric/v1/mesh.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

struct MeshAnswer {
  v1::BlameReport report;
  ProbeCoverage coverage;
  std::vector<AffectedPorts> affected;  // Of the suspects
  std::vector<v1::MeshLeafPair> leaf_pairs;
  MeshNumbers numbers;  // Of them
};

class MeshJudgement {
 public:
  // Borrows the layout. `counts` of the steps: by pair of its plan.
  explicit MeshJudgement(const MeshLayout& layout) : layout_(layout) {}

  // Each reads some pairs. True: there are more.
  bool Count(std::span<const MeshCounts> counts);
  bool Collect(std::span<const MeshCounts> counts);
  // `pairs`: for ProbeCoverage.
  void Ask(const v1::TrafficClass& traffic_class, std::set<std::string> pairs);

  // To be filled in before Ask().
  std::vector<v1::Finding> findings;
  std::string last_finding;  // Id of the last one that was read
  MeshAnswer answer;

 private:
  const MeshLayout& layout_;
  std::size_t counted_ = 0;                      // Pairs
  std::size_t lossy_ = 0;                        // Observations of pairs with loss
  std::size_t clean_ = 0;                        // And of others
  std::size_t seen_lossy_ = 0, seen_clean_ = 0;  // Pairs
  std::vector<MeshSum> sums_;                    // By pair
  google::protobuf::RepeatedPtrField<v1::PairResult> results_;
};

}  // namespace fabric::control
