// Checks of forward error correction: bits that it corrected, and blocks that it could not.
#include <limits>
#include <string>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

// Bit error ratios up to which RS-FEC keeps the loss of IEEE 802.3: lanes of 25 Gb/s in clause 95,
// PAM4 lanes in clause 120.
constexpr double kBerMaxNrz = 5e-5;
constexpr double kBerMaxPam4 = 2.4e-4;
constexpr std::chrono::seconds kFecIntervalMin(5);
constexpr std::uint32_t kFull = std::numeric_limits<std::uint32_t>::max();

std::uint32_t Grown(std::uint32_t before, std::uint32_t now) {
  return now >= before ? now - before : now;  // Reset between the readings
}

struct FecPort {
  End end;
  const Port& port;
  const PortDetails& details;

  double Seconds() const { return std::chrono::duration<double>(details.between).count(); }
};

// Calls `judge` for each connected switch port with two values. Ports with PAM4 lanes, which always
// have forward error correction, are UNKNOWN without them.
template <class Judge>
void ForEachFecPort(const Subnet& subnet, Verdicts& out, Judge judge) {
  std::size_t unread = 0;
  for (std::uint32_t node = 0; node < subnet.nodes().size(); ++node) {
    if (subnet.node(node).type != NodeType::kSwitch) continue;
    for (std::uint32_t number = 1; number < subnet.node(node).ports.size(); ++number) {
      const Port& port = subnet.node(node).ports[number];
      if (!port.Peer().present() || !port.rate.known()) continue;
      const PortDetails* const details = subnet.DetailsOf(port);
      if (details != nullptr && details->fec && details->first_fec &&
          details->between >= kFecIntervalMin)
        judge(FecPort{.end = {node, number}, .port = port, .details = *details});
      else if (port.rate.speed >= Speed::kHdr)
        ++unread;
    }
  }
  if (unread == 0) return;
  const std::string ports = Plural(unread, "switch port");
  out.Unknown(subnet.reading()
                  ? Format("two values of the counters of error correction of {}: the switches do "
                           "not announce them, or they were read once",
                           ports)
                  : Format("counters of error correction of {}: {}", ports, kNeedsReading));
}

v1::Remedy Clean() {
  return Advice("Clean and reseat both ends of the cable, then replace the cable or module.");
}

void JudgeBitErrors(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::size_t full = 0;
  ForEachFecPort(subnet, out, [&](const FecPort& at) {
    if (at.details.fec->corrected_symbols == kFull) {
      ++full;
      return;
    }
    const std::uint32_t symbols =
        Grown(at.details.first_fec->corrected_symbols, at.details.fec->corrected_symbols);
    const bool pam4 = at.port.rate.speed >= Speed::kHdr;
    const double limit = input.expected.raw_ber_max.value_or(pam4 ? kBerMaxPam4 : kBerMaxNrz);
    const double ratio = symbols / (at.port.rate.GigabitsPerSecond() * 1e9 * at.Seconds());
    if (ratio <= limit) return out.Pass();
    const Cable cable{at.end, at.port.Peer()};
    out.Fail({.subject = SubjectOf(subnet, cable),
              .key = EndWords(subnet, at.end),
              .title = Format("{}: bit error ratio before correction {:.2g} at {}, expected at "
                              "most {:.2g}",
                              CableWords(subnet, cable), ratio, EndWords(subnet, at.end), limit),
              .what = "corrected symbols by the bits of the link",
              .expected = Format("at most {:.2g}", limit),
              .seen = Format("{:.2g} ({} symbols in {:.0f} s)", ratio, symbols, at.Seconds()),
              .basis = input.expected.raw_ber_max ? "profile: raw_ber_max"
                       : pam4                     ? "IEEE 802.3 clause 120, RS-FEC(544,514)"
                                                  : "IEEE 802.3 clause 95, RS-FEC(528,514)",
              .remedies = CableRemedies(subnet, cable, Clean().note())});
  });
  if (full > 0)
    out.Unknown(Format("bit errors of {}: PortFECCorrectedSymbolCtr is at its maximum",
                       Plural(full, "switch port")));
}

void JudgeBlocks(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  ForEachFecPort(subnet, out, [&](const FecPort& at) {
    const std::uint32_t blocks =
        Grown(at.details.first_fec->uncorrectable_blocks, at.details.fec->uncorrectable_blocks);
    if (blocks == 0) return out.Pass();
    const Cable cable{at.end, at.port.Peer()};
    out.Fail({.subject = SubjectOf(subnet, cable),
              .key = EndWords(subnet, at.end),
              .title = Format("{}: {} with errors that could not be corrected at {} in {:.0f} s",
                              CableWords(subnet, cable), Plural(blocks, "block"),
                              EndWords(subnet, at.end), at.Seconds()),
              .what = "increase of PortFECUncorrectableBlockCtr",
              .expected = "0",
              .seen = std::to_string(blocks),
              .remedies = CableRemedies(subnet, cable, Clean().note())});
  });
}

}  // namespace

extern const Check subnet_bit_errors_within_limit = {
    .id = "subnet_bit_errors_within_limit",
    .title = "Bit errors before correction are few enough for the correction",
    .severity = v1::SEVERITY_WARNING,
    .why =
        "Links with PAM4 always have bit errors, which forward error correction removes. Above "
        "the limit, blocks with too many errors become likely. The ratio rises before packets "
        "are lost.",
    .judge = JudgeBitErrors};

extern const Check subnet_blocks_correctable = {
    .id = "subnet_blocks_correctable",
    .title = "Forward error correction corrects all blocks",
    .severity = v1::SEVERITY_ERROR,
    .why = "A block that cannot be corrected is lost, with the packets in it.",
    .judge = JudgeBlocks};

}  // namespace fabric::subnet
