// Repeated reading of one subnet. The first reading is complete. The next ones are refreshes, which
// find each change of a link, a LID or a subnet manager, and read all counters. Forwarding tables,
// P_Keys and tables of virtual lanes are read when links, LIDs, the size of a table or the master
// changed, and every half an hour. An answer that does not fit makes a complete reading at once.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "agents/subnet/reader.h"

namespace fabric::agent {

class SubnetWatch {
 public:
  static constexpr Duration kTablesAge = std::chrono::minutes(30);
  static constexpr Duration kDiscoveryAge = std::chrono::hours(24);

  // `options`: pace and M_Key.
  SubnetWatch(const Clock& clock, ReaderOptions options);

  // A complete snapshot, nodes in the order of their GUIDs. Counters have those of the last reading
  // for rates. Errors of SubnetReader::Read.
  Result<v1::SubnetSnapshot> Read(MadTransport& transport, const std::stop_token& stop);

  // Asks the subnet managers and switches of the last reading for their state. One packet for each.
  // Errors of the transport; CANCELLED when stopped.
  enum class Seen {
    kNothing,
    kSwitch,   // A switch does not answer, reports another state of a port, or has another table.
    kManager,  // A manager does not answer, or has another state or priority.
  };
  Result<Seen> Look(MadTransport& transport, const std::stop_token& stop);

 private:
  struct Reading {
    EarlierReading reading;
    std::vector<ManagerAt> managers = {};
    std::vector<SwitchAt> switches = {};
    bool complete = false;  // Not a refresh
    bool tables = false;    // With tables, P_Keys and lanes

    bool HasChanged() const { return !reading.snapshot.changed().empty(); }
  };

  // A refresh of the reading before; null: a complete reading.
  Result<Reading> ReadOnce(MadTransport& transport, const EarlierReading* before, bool tables,
                           const std::stop_token& stop);
  // Again, if the subnet changed meanwhile.
  Result<Reading> ReadUnchanged(MadTransport& transport, const EarlierReading* before, bool tables,
                                const std::stop_token& stop);
  Seen Compare(const Done& done);

  const Clock& clock_;
  const ReaderOptions options_;
  std::optional<Reading> last_;
  std::uint64_t mads_ = 0;    // Of this call of Read()
  std::uint32_t number_ = 0;  // Of this call
  SteadyTime tables_at_{};
  SteadyTime complete_at_{};
};

}  // namespace fabric::agent
