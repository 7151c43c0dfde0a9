#include "agents/subnet_read.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <stop_token>

#include "agents/one_shot.h"
#include "agents/subnet/ibsim_transport.h"
#include "agents/subnet/m_key.h"
#include "agents/subnet/reader.h"
#include "agents/subnet/umad_transport.h"
#include "base/atomic_file.h"
#include "base/lists.h"
#include "base/text.h"
#include "proto/json.h"

namespace fabric::agent {
namespace {

Result<std::unique_ptr<MadTransport>> OpenTransport(const SubnetReadOptions& options) {
  if (!options.ibsim.empty()) return OpenIbsim(options.ibsim, options.ibsim_node);
  return OpenUmadTransport(options.device, options.port);
}

void ShowProgress(const v1::SubnetSnapshot& so_far, std::uint64_t mads) {
  std::fputs(Format("\r{}, {}", Plural(static_cast<std::uint64_t>(so_far.nodes_size()), "node"),
                    Plural(mads, "packet"))
                 .c_str(),
             stderr);
}

Result<v1::SubnetSnapshot> ReadSubnet(const SubnetReadOptions& options) {
  ReaderOptions reading{.window = {.pace = {.smps = options.smps,
                                            .gmps = options.gmps,
                                            .per_second = options.per_second}},
                        .tables = !options.topology_only,
                        .p_keys = !options.topology_only,
                        .lanes = !options.topology_only,
                        .counters = !options.topology_only,
                        .rate_interval = options.rate_interval};
  if (!options.m_key_file.empty()) {
    ASSIGN_OR_RETURN(reading.m_key, ReadMKey(options.m_key_file));
  }
  if (isatty(STDERR_FILENO) != 0) reading.on_progress = ShowProgress;
  ASSIGN_OR_RETURN(const auto transport, OpenTransport(options));
  const SystemClock clock;
  Result<v1::SubnetSnapshot> snapshot = ReadUnchanged(*transport, clock, reading, {});
  if (reading.on_progress) std::fputs("\n", stderr);
  return snapshot;
}

}  // namespace

int PrintSubnet(const SubnetReadOptions& options) {
  const auto snapshot = ReadSubnet(options);
  if (!snapshot.ok()) return Fail(snapshot.status(), 1);
  for (const std::string& line : snapshot->not_covered())
    std::fputs(Format("fabric-agent: not read: {}\n", line).c_str(), stderr);
  const std::string text = ToJson(*snapshot, false) + "\n";
  if (!options.file.empty()) {
    const Status written = WriteFileAtomically(options.file, text, 0644);
    return written.ok() ? 0 : Fail(written, 1);
  }
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}

}  // namespace fabric::agent
