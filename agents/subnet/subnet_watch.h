// Repeated reading of one subnet: topology, subnet managers and counters each time; forwarding
// tables and P_Keys when links, LIDs or the size of a table changed, and every half an hour.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "agents/subnet/reader.h"

namespace fabric::agent {

class SubnetWatch {
 public:
  static constexpr Duration kTablesAge = std::chrono::minutes(30);

  // `options`: pace and M_Key.
  SubnetWatch(const Clock& clock, ReaderOptions options);

  // A complete snapshot, nodes in the order of their GUIDs. Counters have those of the last reading
  // for rates. Errors of SubnetReader::Read.
  Result<v1::SubnetSnapshot> Read(MadTransport& transport, const std::stop_token& stop);

 private:
  Result<v1::SubnetSnapshot> ReadOnce(MadTransport& transport, bool tables,
                                      const std::stop_token& stop) const;

  const Clock& clock_;
  const ReaderOptions options_;
  std::optional<v1::SubnetSnapshot> last_;
  SteadyTime tables_at_{};
};

}  // namespace fabric::agent
