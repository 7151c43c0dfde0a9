#include "agents/probe/polling.h"

#include <array>
#include <thread>

#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kSpins = 2000;        // Some microseconds of reading memory
constexpr std::uint32_t kPollsPerCheck = 64;  // stopped() costs more than a poll.

}  // namespace

bool Pace::Next() {
  ++polls_;
  if (polls_ % kPollsPerCheck == 0 && run_.stopped()) return false;
  if (polls_ > kSpins) std::this_thread::yield();
  return true;
}

Status AwaitCompletion(ProbeRun& run, std::string_view what) {
  std::array<host::Completion, 1> completions;
  Pace pace(run);
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t count, run.queue_pair.Poll(completions));
    if (count > 0) break;
    if (!pace.Next()) return {Code::kDeadlineExceeded, Format("{}: no completion", what)};
  }
  if (completions[0].ok) return {};
  return {Code::kUnavailable, Format("{}: {}", what, completions[0].error)};
}

void Conclude(const Status& status, v1::ProbeResult& result) {
  result.set_status(status.ok()                                ? v1::PROBE_STATUS_OK
                    : status.code() == Code::kDeadlineExceeded ? v1::PROBE_STATUS_TIMED_OUT
                                                               : v1::PROBE_STATUS_FAILED);
  result.set_reason(status.message());
}

}  // namespace fabric::probe
