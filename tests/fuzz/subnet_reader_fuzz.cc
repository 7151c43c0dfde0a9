// Management packets of hostile devices: each answer has the right transaction, and data from the
// input. The reader ends, and what it read can be checked, also after a refresh.
#include <algorithm>
#include <deque>

#include "agents/subnet/reader.h"
#include "agents/subnet/subnet_watch.h"
#include "subnet/checks/check.h"
#include "subnet/files/formats.h"
#include "subnet/mad/mad.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

namespace {

class FuzzClock final : public fabric::Clock {
 public:
  fabric::Moment Now() const override { return now; }
  fabric::Moment now{fabric::SteadyTime(std::chrono::hours(1)), {}};
};

class Devices final : public fabric::agent::MadTransport {
 public:
  Devices(std::span<const std::uint8_t> input, FuzzClock& clock) : input_(input), clock_(clock) {}

  std::string name() const override { return "fuzz port 1"; }
  fabric::Status Send(const fabric::agent::MadPacket& packet, fabric::Duration) override {
    requests_.push_back(packet);
    return {};
  }
  fabric::Result<std::optional<fabric::agent::MadPacket>> Receive(fabric::Duration wait) override {
    if (requests_.empty() || input_.empty()) {
      requests_.clear();
      clock_.now.steady += wait;
      return std::optional<fabric::agent::MadPacket>();
    }
    fabric::agent::MadPacket answer = requests_.front();
    requests_.pop_front();
    // The first byte: the method and the status, or a packet of its own.
    const std::uint8_t how = input_.front();
    input_ = input_.subspan(1);
    std::size_t at = how == 0xff ? 0 : 64;
    if (how != 0xff) answer.mad[3] = 0x81;
    if (how > 0xf0 && how < 0xff) answer.mad[5] = how & 0x0f;
    for (std::size_t i = 0; i < 64 && !input_.empty(); ++i) {
      answer.mad[at++] = input_.front();
      input_ = input_.subspan(1);
    }
    return std::optional<fabric::agent::MadPacket>(answer);
  }

 private:
  std::span<const std::uint8_t> input_;
  FuzzClock& clock_;
  std::deque<fabric::agent::MadPacket> requests_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzClock clock;
  Devices devices({data, size}, clock);
  // Silent devices are given up at once, so that an input is fast.
  fabric::agent::ReaderOptions options;
  options.window.pace = {.smps = 64, .gmps = 64, .per_second = 10'000'000};
  fabric::agent::SubnetWatch watch(clock, options);
  for (int i = 0; i < 3; ++i) {
    const auto snapshot = watch.Read(devices, {});
    if (!snapshot.ok()) {
      Check(!snapshot.status().message().empty(), "an error has a message");
      return 0;
    }
    Check(snapshot->IsInitialized() && snapshot->ByteSizeLong() < 64U << 20,
          "a snapshot is bounded");
    fabric::subnet::Builder builder;
    fabric::subnet::AddSnapshot("live", *snapshot, builder);
    const fabric::subnet::Subnet subnet = builder.Finish();
    if (subnet.nodes().size() > 100) return 0;
    for (const auto& finding : fabric::subnet::Evaluate(subnet, nullptr, {}).findings)
      Check(!finding.title().empty(), "a finding has a title");
    if (!watch.Look(devices, {}).ok()) return 0;
  }
  return 0;
}
