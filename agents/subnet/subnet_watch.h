// Repeated reading of one subnet: topology, subnet managers and counters each time; forwarding
// tables, P_Keys and tables of virtual lanes when links, LIDs, the size of a table or the master
// changed, and every half an hour.
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

  // Asks the subnet managers of the last reading for their state: true when one does not answer or
  // has another state or priority. One packet for each. Errors of the transport; CANCELLED when
  // stopped.
  Result<bool> HaveManagersChanged(MadTransport& transport, const std::stop_token& stop) const;

 private:
  Result<v1::SubnetSnapshot> ReadOnce(MadTransport& transport, bool tables,
                                      const std::stop_token& stop);

  const Clock& clock_;
  const ReaderOptions options_;
  std::optional<v1::SubnetSnapshot> last_;
  std::vector<ManagerAt> managers_;  // Of the last reading
  SteadyTime tables_at_{};
};

}  // namespace fabric::agent
