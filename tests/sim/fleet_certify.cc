// Certificates: healthy nodes pass in time, who is not well is named, and nobody else is.
#include <algorithm>
#include <chrono>
#include <optional>

#include "base/jws.h"
#include "base/text.h"
#include "proto/names.h"
#include "tests/sim/fleet_scenario.h"
#include "tests/testing/coverage.h"

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kWithinSeconds = 60;
// An inspection, and until findings of what was mended are resolved.
constexpr Duration kCertifyRepairIn = 40s;
constexpr Duration kLook = 20ms;

// What is done to one port and its node, and what a certificate may then say of that node.
struct Trouble {
  const char* name;
  void (*plant)(Fleet& fleet, const Port& port, Random& random);
  v1::Verdict verdict = v1::VERDICT_UNSPECIFIED;  // Without: anything but PASS
  bool all = false;                               // It is done to all nodes: none may FAIL.
  bool may_pass = false;  // When it was only ever the end that others probed
  const char* says = "";  // Part of a reason
};

void Cut(Fleet& fleet, const Port& port, Random&) {
  fleet.fabric().Add({.port = port, .loss = 1});
}

constexpr std::uint32_t kLosslessClass = 106;  // DSCP 26

// As with a switch port whose lossless queue drops: DSCP 0 passes.
void CutLosslessClass(Fleet& fleet, const Port& port, Random&) {
  fleet.fabric().Add({.port = port, .loss = 1, .traffic_class = kLosslessClass});
}

void Lose(Fleet& fleet, const Port& port, Random& random) {
  fleet.fabric().Add({.port = port, .loss = random.LogBetween(0.02, 0.3)});
}

void SlowDown(Fleet& fleet, const Port& port, Random& random) {
  fleet.fabric().Add({.port = port, .speed = random.Between(0.2, 0.6)});
}

void TakeTheLink(Fleet& fleet, const Port& port, Random&) {
  fleet.SetLink(port, false);
  fleet.Run(1s);  // It is told.
}

void Kill(Fleet& fleet, const Port& port, Random&) {
  fleet.agent(port.node).Crash(false);
  fleet.Run(5s);
}

void KillSoon(Fleet& fleet, const Port& port, Random& random) {
  fleet.queue().After(std::chrono::milliseconds(50 + random.Below(300)),
                      [&agent = fleet.agent(port.node)] { agent.Crash(true); });
}

void StandStill(Fleet& fleet, const Port& port, Random&) {
  fleet.agent(port.node).Freeze(80s);
}

// Its driver and its processes take so long that no probe is done in time.
void Starve(Fleet& fleet, const Port& port, Random& random) {
  fleet.agent(port.node).Slow(random.Between(400, 1000));
}

void StarveAll(Fleet& fleet, const Port&, Random& random) {
  for (std::uint32_t node = 0; node < fleet.size(); ++node)
    fleet.agent(node).Slow(random.Between(100, 600));
}

constexpr Trouble kTroubles[] = {
    {"is cut", Cut, v1::VERDICT_FAIL},
    {.name = "loses one class",
     .plant = CutLosslessClass,
     .verdict = v1::VERDICT_FAIL,
     .says = "class lossless (DSCP 26, priority 3)"},
    {"is lossy", Lose, v1::VERDICT_FAIL},
    {"is slow", SlowDown, v1::VERDICT_FAIL},
    {"has no link", TakeTheLink},
    {"is away", Kill, v1::VERDICT_UNKNOWN},
    {"goes away", KillSoon},
    {"stands still", StandStill, v1::VERDICT_UNKNOWN},
    {"is starved", Starve, v1::VERDICT_UNKNOWN, false, true},
    {"is starved as all are", StarveAll, v1::VERDICT_UNSPECIFIED, true},
};

// Of a thousand nodes: what takes time.
constexpr Trouble kOfMany[] = {
    {"is slow", SlowDown, v1::VERDICT_FAIL},
    {"stands still", StandStill, v1::VERDICT_UNKNOWN},
    {"is starved", Starve, v1::VERDICT_UNKNOWN, false, true},
};

v1::CertificateRequest AllNodes(Fleet& fleet) {
  v1::CertificateRequest request;
  for (std::uint32_t node = 0; node < fleet.size(); ++node)
    request.add_nodes(Fleet::NodeName(node));
  request.set_within_seconds(kWithinSeconds);
  return request;
}

void CheckSignature(Fleet& fleet, const v1::GetCertificateResponse& answer) {
  const v1::SignedCertificate& text = answer.signed_();
  const auto payload = OpenJws(fleet.certificate_key(), kCertificateType,
                               {.header = text.protected_header(),
                                .payload = text.payload(),
                                .signature = text.signature()});
  if (!payload.ok()) fleet.checks().Violate("not signed: " + payload.status().message());
}

struct Made {
  v1::Certificate certificate;
  double seconds = 0;
};

// In its time, or it is a violation.
std::optional<Made> Certified(Fleet& fleet) {
  const Duration begun = fleet.now();
  const auto id = fleet.Certify(AllNodes(fleet));
  if (!id.ok()) {
    fleet.checks().Violate(id.status().message());
    return std::nullopt;
  }
  while (fleet.now() <= begun + std::chrono::seconds(kWithinSeconds)) {
    fleet.Run(kLook);
    const v1::GetCertificateResponse answer = fleet.Certificate(*id);
    if (answer.certificate().state() != v1::CERTIFICATE_STATE_DONE) continue;
    CheckSignature(fleet, answer);
    return Made{answer.certificate(), std::chrono::duration<double>(fleet.now() - begun).count()};
  }
  fleet.checks().Violate(Format("{} is not done within {} s", *id, kWithinSeconds));
  return std::nullopt;
}

std::string Why(const v1::CertifiedNode& node) {
  return Format("{} {}: {}", node.name(), v1::Verdict_Name(node.verdict()),
                Join({node.reasons().begin(), node.reasons().end()}, "; "));
}

// Of those that are well nobody fails. A few may be unknown: the fabric's noise makes pairs fail
// once and ports slow once, and nothing tells whose fault that was.
void CheckOthers(Fleet& fleet, const v1::Certificate& certificate, const std::string& bad,
                 const char* trouble) {
  std::uint32_t unknown = 2 * (2 + certificate.pairs_probed() / 500);
  for (const v1::CertifiedNode& node : certificate.nodes()) {
    if (node.name() == bad || node.verdict() == v1::VERDICT_PASS) continue;
    if (node.verdict() == v1::VERDICT_UNKNOWN && unknown-- > 0) continue;
    fleet.checks().Violate(
        Format("{} {}, and of another one is said: {}", bad, trouble, Why(node)));
  }
}

void CheckNamed(Fleet& fleet, const v1::Certificate& certificate, const std::string& bad,
                const Trouble& trouble) {
  for (const v1::CertifiedNode& node : certificate.nodes()) {
    if (node.name() != bad) continue;
    const bool passes = node.verdict() == v1::VERDICT_PASS;
    const bool any = trouble.verdict == v1::VERDICT_UNSPECIFIED;
    const bool right =
        (passes && trouble.may_pass) || (any ? !passes : node.verdict() == trouble.verdict);
    const bool said = Why(node).find(trouble.says) != std::string::npos;
    if (!right || !said) fleet.checks().Violate(Format("{} {}: {}", bad, trouble.name, Why(node)));
  }
}

void CheckNobodyFails(Fleet& fleet, const v1::Certificate& certificate, const Trouble& trouble) {
  for (const v1::CertifiedNode& node : certificate.nodes())
    if (node.verdict() == v1::VERDICT_FAIL)
      fleet.checks().Violate(Format("each node {}: {}", trouble.name, Why(node)));
  if (certificate.verdict() == v1::VERDICT_FAIL)
    fleet.checks().Violate(Format("each node {}, and the certificate fails", trouble.name));
}

std::string Told(const v1::Certificate& certificate) {
  std::uint32_t count[3] = {};
  for (const v1::CertifiedNode& node : certificate.nodes())
    ++count[node.verdict() == v1::VERDICT_PASS ? 0 : node.verdict() == v1::VERDICT_FAIL ? 1 : 2];
  return Format("{} PASS, {} FAIL, {} UNKNOWN, {} of {} pairs probed", count[0], count[1], count[2],
                certificate.pairs_probed(), certificate.pairs_possible());
}

void Mend(Fleet& fleet, const Port& port) {
  fleet.HealFabric();
  fleet.SetLink(port, true);
  for (std::uint32_t node = 0; node < fleet.size(); ++node) {
    fleet.agent(node).Slow(1);
    if (!fleet.agent(node).up()) fleet.agent(node).Boot();
  }
  fleet.Run(kCertifyRepairIn);
}

void CertifyHealthy(Fleet& fleet, Report& report, const char* when) {
  // What passes by once, at one pair, leaves a doubt that only another probe of it would take away.
  Noise& noise = fleet.fabric().noise;
  noise.odd_failure = noise.burst = noise.stall = 0;
  const auto made = Certified(fleet);
  if (!made) return;
  report.figures.push_back(
      Format("{}: {}, in {:.2f} s", when, Told(made->certificate), made->seconds));
  if (made->certificate.verdict() != v1::VERDICT_PASS)
    fleet.checks().Violate(Format("{}: the certificate is {}: {}", when,
                                  v1::Verdict_Name(made->certificate.verdict()),
                                  Join(testing::Texts(made->certificate.not_covered()), "; ")));
  for (const v1::CertifiedNode& node : made->certificate.nodes())
    if (node.verdict() != v1::VERDICT_PASS)
      fleet.checks().Violate(Format("{}: {}", when, Why(node)));
}

void CertifyWith(const Trouble& trouble, Fleet& fleet, Random& random, Report& report) {
  const Port port{static_cast<std::uint32_t>(random.Below(fleet.size())),
                  static_cast<std::uint32_t>(random.Below(fleet.options().shape.rails))};
  const std::string bad = Fleet::NodeName(port.node);
  fleet.checks().Excuse(bad);
  fleet.trace().Tell(fleet.now(), Format("{} {}", bad, trouble.name));
  fleet.HealFabric();  // With all its noise
  trouble.plant(fleet, port, random);
  if (const auto made = Certified(fleet)) {
    report.figures.push_back(Format("{} {}: {}, in {:.2f} s", bad, trouble.name,
                                    Told(made->certificate), made->seconds));
    if (trouble.all) {
      CheckNobodyFails(fleet, made->certificate, trouble);
    } else {
      CheckNamed(fleet, made->certificate, bad, trouble);
      CheckOthers(fleet, made->certificate, bad, trouble.name);
    }
  }
  Mend(fleet, port);
  (void)AwaitFleet(fleet, 120s);
  (void)Certified(fleet);  // Resolves what this one located.
}

bool Begin(Fleet& fleet, Report& report) {
  fleet.BootAll(2s);
  if (!AwaitFleet(fleet, 60s)) return false;
  CertifyHealthy(fleet, report, "at first");
  return true;
}

}  // namespace

void PlayCertificates(const FleetScenario&, Fleet& fleet, Report& report) {
  Random random(fleet.options().seed ^ 0xce27);
  if (!Begin(fleet, report)) return;
  for (const Trouble& trouble : kTroubles) CertifyWith(trouble, fleet, random, report);
  fleet.Run(2s + control::LifecycleOptions().flap_hold);
  CertifyHealthy(fleet, report, "in the end");
  fleet.Run(10s);
  CheckNothingLeft(fleet);
}

void PlayThousandCertified(const FleetScenario&, Fleet& fleet, Report& report) {
  Random random(fleet.options().seed ^ 0xce28);
  if (!Begin(fleet, report)) return;
  for (const Trouble& trouble : kOfMany) CertifyWith(trouble, fleet, random, report);
  CheckNothingLeft(fleet);
}

}  // namespace fabric::sim
