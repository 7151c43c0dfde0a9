// Certificates from the request to the signature, with a controller and its agents.
#include <string>

#include "base/jws.h"
#include "base/text.h"
#include "proto/json.h"
#include "proto/timestamps.h"
#include "tests/testing/coverage.h"
#include "tests/testing/nodes.h"
#include "tests/unit/control/campaign_words.h"

namespace fabric::control {
namespace {

const SigningKey& Key() {
  static const SigningKey kKey = *SigningKey::Generate();
  return kKey;
}

ControllerOptions Signing() {
  ControllerOptions options;
  options.certificates.key = Key();
  options.certificates.issuer = "fabricd 9 at head1";
  return options;
}

v1::CertificateRequest Nodes(std::uint32_t count) {
  v1::CertificateRequest request;
  for (std::uint32_t n = 1; n <= count; ++n) request.add_nodes(Format("n{}", n));
  return request;
}

Result<v1::Certificate> Start(ControlWorld& world, const v1::CertificateRequest& wanted) {
  v1::StartCertificateRequest request;
  *request.mutable_request() = wanted;
  v1::Certificate certificate;
  const Status status = world.controller->Call(request, certificate, world.agents.now());
  if (!status.ok()) return status;
  return certificate;
}

Result<v1::GetCertificateResponse> Get(ControlWorld& world, const std::string& id) {
  v1::GetCertificateRequest request;
  request.set_id(id);
  v1::GetCertificateResponse response;
  const Status status = world.controller->Call(request, response, world.agents.now());
  if (!status.ok()) return status;
  return response;
}

// Until it is done; it fails the test after `most`.
v1::GetCertificateResponse Finish(ControlWorld& world, const v1::CertificateRequest& wanted,
                                  Duration most = 60s) {
  const auto started = Start(world, wanted);
  EXPECT_TRUE(started.ok()) << started.status().message();
  if (!started.ok()) return {};
  for (Duration passed{}; passed < most; passed += 100ms) {
    world.agents.Advance(100ms);
    const auto got = Get(world, started->id());
    if (got.ok() && got->certificate().state() == v1::CERTIFICATE_STATE_DONE) return *got;
  }
  ADD_FAILURE() << "the certificate is not done in time";
  return {};
}

const v1::CertifiedNode& Of(const v1::Certificate& certificate, const std::string& node) {
  static const v1::CertifiedNode kNone;
  for (const v1::CertifiedNode& each : certificate.nodes())
    if (each.name() == node) return each;
  ADD_FAILURE() << "nothing is said of " << node;
  return kNone;
}

// A switch port whose lossless queue drops packets passes DSCP 0.
TEST(Certificates, FailForAFaultOfTheLosslessClassAlone) {
  ControlWorld world(Signing());
  world.ConnectNodes(6);
  world.agents.SetPath([](const v1::ProbeAssignment& probe, v1::ProbeResult& result) {
    const bool here = probe.local().rail() == 0 &&
                      (probe.local().node() == "n2" || probe.remote().node() == "n2");
    if (!here || probe.spec().traffic_class() >> 2 != 26) return;
    result = {};
    result.set_status(v1::PROBE_STATUS_FAILED);
    result.set_reason("transport retry counter exceeded");
  });
  const v1::Certificate certificate = Finish(world, Nodes(6)).certificate();
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(certificate.classes(0).name(), "lossless");
  ASSERT_GT(Of(certificate, "n2").reasons_size(), 0);
  EXPECT_THAT(Of(certificate, "n2").reasons(0), ::testing::HasSubstr("n2/mlx5_0/1"));
  EXPECT_THAT(Of(certificate, "n2").reasons(0),
              ::testing::HasSubstr("class lossless (DSCP 26, priority 3)"));
  EXPECT_EQ(Of(certificate, "n1").verdict(), v1::VERDICT_PASS);
}

TEST(Certificates, TestGpuMemoryAfterThePathsAndSayWhichMemoryWasUsed) {
  ControlWorld world(Signing());
  world.ConnectNodes(4);
  std::vector<std::string> between;  // Nodes whose GPU was probed with another node
  world.agents.SetPath([&](const v1::ProbeAssignment& probe, v1::ProbeResult& result) {
    if (!probe.spec().has_gpu_memory()) return;
    if (probe.local().node() != probe.remote().node()) between.push_back(probe.local().node());
    if (probe.local().node() != "n3") return;
    result = {};
    result.set_status(v1::PROBE_STATUS_FAILED);
    result.set_reason("remote access error (10)");
  });
  const v1::Certificate certificate = Finish(world, Nodes(4)).certificate();
  EXPECT_THAT(between, IsEmpty());
  ASSERT_NE(certificate.gpu_campaign(), "");
  EXPECT_EQ(Of(certificate, "n1").verdict(), v1::VERDICT_PASS);
  ASSERT_EQ(Of(certificate, "n1").memory_size(), 2);
  EXPECT_EQ(Of(certificate, "n1").memory(0).memory(), v1::PROBE_MEMORY_GPU);
  EXPECT_EQ(Of(certificate, "n1").memory(0).host_bandwidth_bps(), 97e9);
  EXPECT_EQ(Of(certificate, "n3").verdict(), v1::VERDICT_FAIL);
  EXPECT_THAT(Of(certificate, "n3").reasons(0),
              ::testing::HasSubstr("cannot use GPU memory, which works at 6 of 8 ports"));
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(certificate.blame().suspects_size(), 0) << "no path is at fault";
  EXPECT_THAT(world.OpenFindings(),
              ::testing::Not(::testing::Contains(::testing::StartsWith("probe_blame"))));
}

TEST(Certificates, PassWhenAllNodesAreWell) {
  ControlWorld world(Signing());
  world.ConnectNodes(5);
  v1::CertificateRequest request = Nodes(4);
  request.add_nodes("n4");  // Twice is once.
  request.set_job_id("4711");
  const v1::GetCertificateResponse answer = Finish(world, request);
  const v1::Certificate& certificate = answer.certificate();
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_PASS) << certificate.DebugString();
  EXPECT_EQ(certificate.nodes_size(), 4);
  EXPECT_EQ(certificate.nodes(0).ports(), 2u);
  EXPECT_THAT(certificate.rails(), ElementsAre(0, 1));
  EXPECT_EQ(certificate.pairs_probed(), 12u) << "six pairs of each rail";
  EXPECT_EQ(certificate.pairs_possible(), 12u);
  EXPECT_THAT(certificate.not_covered(), IsEmpty());
  EXPECT_EQ(certificate.request().job_id(), "4711");
  EXPECT_EQ(certificate.issuer(), "fabricd 9 at head1");
  EXPECT_GT(certificate.coverage().rules_judged(), 50u);
  EXPECT_THAT(certificate.coverage().expectations_missing(), Contains("rate_bps"));
  EXPECT_EQ(FromProto(certificate.expires_at()) - FromProto(certificate.issued_at()), 15min);
  EXPECT_EQ(world.agents.assignments("n5"), 0u) << "exactly these nodes";
  EXPECT_EQ(world.Campaign(certificate.campaign()).state(), v1::CAMPAIGN_STATE_DONE);
}

TEST(Certificates, AreListedNewestFirstInPages) {
  ControlWorld world(Signing());
  world.ConnectNodes(2);
  const auto first = Start(world, Nodes(1));
  const auto second = Start(world, Nodes(2));
  ASSERT_TRUE(first.ok() && second.ok());
  v1::ListCertificatesRequest request;
  request.set_page_size(1);
  request.set_fields("id,request");
  v1::ListCertificatesResponse page;
  ASSERT_TRUE(world.controller->Call(request, page, world.agents.now()).ok());
  ASSERT_EQ(page.certificates_size(), 1);
  EXPECT_EQ(page.certificates(0).id(), second->id());
  request.set_page_token(page.next_page_token());
  page.Clear();
  ASSERT_TRUE(world.controller->Call(request, page, world.agents.now()).ok());
  ASSERT_EQ(page.certificates_size(), 1);
  EXPECT_EQ(page.certificates(0).id(), first->id());
  EXPECT_EQ(page.certificates(0).request().nodes_size(), 1);
}

TEST(Certificates, AreSigned) {
  ControlWorld world(Signing());
  world.ConnectNodes(2);
  const v1::GetCertificateResponse answer = Finish(world, Nodes(2));
  const Signed text{.header = answer.signed_().protected_header(),
                    .payload = answer.signed_().payload(),
                    .signature = answer.signed_().signature()};
  const auto payload = OpenJws(Key().Public(), kCertificateType, text);
  ASSERT_TRUE(payload.ok()) << payload.status().message();
  v1::Certificate certificate;
  ASSERT_EQ(FromJson(*payload, certificate), Status());
  EXPECT_EQ(certificate.DebugString(), answer.certificate().DebugString());
  EXPECT_EQ(certificate.state(), v1::CERTIFICATE_STATE_DONE);
}

TEST(Certificates, TakeTheRailsThatAreAskedFor) {
  ControlWorld world(Signing());
  world.ConnectNodes(3);
  v1::CertificateRequest request = Nodes(3);
  request.add_rails(1);
  const v1::Certificate certificate = Finish(world, request).certificate();
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(certificate.rails(), ElementsAre(1));
  EXPECT_EQ(certificate.pairs_probed(), 3u);
  request.add_rails(7);
  const v1::Certificate beyond = Finish(world, request).certificate();
  EXPECT_EQ(beyond.verdict(), v1::VERDICT_UNKNOWN);
  EXPECT_THAT(Of(beyond, "n1").reasons(), ElementsAre("no port on rail 7"));
}

TEST(Certificates, FailWithAFindingAboutANode) {
  ControlWorld world(Signing());
  world.ConnectNodes(4);
  v1::NodeSnapshot node = testing::RoceNode({.number = 3});
  testing::LinkDown(node, 1);
  ASSERT_TRUE(world.agents.SendSnapshot(node).ok());
  world.agents.Advance(1s);
  const v1::Certificate certificate = Finish(world, Nodes(4)).certificate();
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(Of(certificate, "n3").verdict(), v1::VERDICT_FAIL);
  EXPECT_THAT(Of(certificate, "n3").reasons(), Contains(HasSubstr("(port_active)")));
  EXPECT_THAT(testing::Texts(certificate.not_covered()),
              Contains(HasSubstr("n3/mlx5_1/1: port is DOWN")));
  EXPECT_EQ(Of(certificate, "n1").verdict(), v1::VERDICT_PASS) << certificate.DebugString();
}

TEST(Certificates, WaitForTheRulesToJudgeWhatHasJustCome) {
  ControlWorld world(Signing());
  world.ConnectNodes(2);
  v1::NodeSnapshot node = testing::RoceNode({.number = 2});
  testing::SetMtu(node, 0, 1500);
  world.agents.Advance(1s);
  ASSERT_TRUE(world.agents.SendSnapshot(node).ok());
  const v1::Certificate certificate = Finish(world, Nodes(2)).certificate();
  EXPECT_THAT(Of(certificate, "n2").findings(), ::testing::Not(IsEmpty()))
      << certificate.DebugString();
}

TEST(Certificates, NameTheNodeWhosePortIsSlow) {
  ControlWorld world(Signing());
  world.ConnectNodes(16);
  world.agents.SetPath([](const v1::ProbeAssignment& assignment, v1::ProbeResult& result) {
    for (const v1::ProbePort* port : {&assignment.local(), &assignment.remote()})
      if (port->node() == "n7" && port->rail() == 1 && result.has_bandwidth()) {
        result.mutable_bandwidth()->set_mean_bps(48e9);
        result.mutable_reverse_bandwidth()->set_mean_bps(48e9);
      }
  });
  const v1::Certificate certificate = Finish(world, Nodes(16)).certificate();
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_FAIL);
  EXPECT_THAT(Of(certificate, "n7").reasons(),
              Contains(StartsWith("n7/mlx5_1/1 is slower than its peers in class lossless")));
  for (const v1::CertifiedNode& node : certificate.nodes())
    EXPECT_EQ(node.verdict(), node.name() == "n7" ? v1::VERDICT_FAIL : v1::VERDICT_PASS)
        << node.DebugString();
}

// Data that the node's rail 1 sends (or receives) is slow.
void MakeSlowOneWay(ControlWorld& world, const std::string& node, bool sends) {
  world.agents.SetPath([=](const v1::ProbeAssignment& assignment, v1::ProbeResult& result) {
    if (assignment.local().rail() != 1 || !result.has_reverse_bandwidth()) return;
    if (assignment.local().node() == node)
      (sends ? result.mutable_bandwidth() : result.mutable_reverse_bandwidth())->set_mean_bps(48e9);
    if (assignment.remote().node() == node)
      (sends ? result.mutable_reverse_bandwidth() : result.mutable_bandwidth())->set_mean_bps(48e9);
  });
}

// The roles of two ports in their only probe follow from chance.
TEST(Certificates, FailForAPortThatIsSlowInOneDirectionAlone) {
  for (const bool sends : {true, false}) {
    for (const std::uint32_t nodes : {4U, 16U}) {
      ControlWorld world(Signing());
      world.ConnectNodes(nodes);
      MakeSlowOneWay(world, "n3", sends);
      const v1::Certificate certificate = Finish(world, Nodes(nodes)).certificate();
      EXPECT_EQ(certificate.verdict(), v1::VERDICT_FAIL) << sends << " " << nodes;
      EXPECT_THAT(Of(certificate, "n3").reasons(),
                  Contains(StartsWith("n3/mlx5_1/1 is slower than its peers")))
          << sends << " " << nodes;
      for (const v1::CertifiedNode& node : certificate.nodes())
        EXPECT_EQ(node.verdict(), node.name() == "n3" ? v1::VERDICT_FAIL : v1::VERDICT_PASS)
            << node.DebugString();
    }
  }
}

// Every second probe over rail 0 of the node fails.
void MakeLossy(ControlWorld& world, const std::string& node) {
  world.agents.SetPath(
      [=, count = 0](const v1::ProbeAssignment& assignment, v1::ProbeResult& result) mutable {
        if (assignment.spec().has_gpu_memory()) return;  // Does not cross the cable.
        for (const v1::ProbePort* port : {&assignment.local(), &assignment.remote()}) {
          if (port->node() != node || port->rail() != 0 || ++count % 2 != 0) continue;
          result.Clear();
          result.set_status(v1::PROBE_STATUS_FAILED);
          result.set_reason("transport retry counter exceeded");
        }
      });
}

std::string NotPassing(const v1::Certificate& certificate) {
  std::string names;
  for (const v1::CertifiedNode& node : certificate.nodes())
    if (node.verdict() != v1::VERDICT_PASS)
      names += Format("{} {} ", node.name(), v1::Verdict_Name(node.verdict()));
  return names;
}

TEST(Certificates, OfALargeJobEndWhenItIsDecided) {
  ControlWorld world(Signing());
  world.ConnectNodes(200);
  const v1::Certificate healthy = Finish(world, Nodes(200)).certificate();
  EXPECT_EQ(NotPassing(healthy), "");
  EXPECT_LT(healthy.pairs_probed(), healthy.pairs_possible());
  EXPECT_THAT(testing::Texts(healthy.not_covered()),
              Contains(HasSubstr("possible ones were not probed")));

  MakeLossy(world, "n77");
  const v1::Certificate lossy = Finish(world, Nodes(200)).certificate();
  EXPECT_EQ(NotPassing(lossy), "n77 VERDICT_FAIL ");
  EXPECT_GT(lossy.pairs_failed(), 0u);
}

TEST(Certificates, OfARailIgnoreFindingsOnOtherRails) {
  ControlWorld world(Signing());
  world.ConnectNodes(3);
  v1::NodeSnapshot node = testing::RoceNode({.number = 3});
  testing::SetPfc(node, 1, 0b11000);
  ASSERT_TRUE(world.agents.SendSnapshot(node).ok());
  world.agents.Advance(1s);
  v1::CertificateRequest request = Nodes(3);
  request.add_rails(0);
  EXPECT_EQ(Finish(world, request).certificate().verdict(), v1::VERDICT_PASS);
  request.add_rails(1);
  EXPECT_EQ(NotPassing(Finish(world, request).certificate()), "n3 VERDICT_FAIL ");
}

TEST(Certificates, NameTheNodeWhoseAgentDoesNotAnswer) {
  ControlWorld world(Signing());
  world.ConnectNodes(24);
  world.agents.Behave("n5", Behaviour::kSilent);
  const v1::Certificate certificate = Finish(world, Nodes(24)).certificate();
  EXPECT_EQ(NotPassing(certificate), "n5 VERDICT_UNKNOWN ")
      << "no result about its fabric, and its partners are well";
  EXPECT_THAT(Of(certificate, "n5").reasons(), Contains(HasSubstr("did not answer")));
}

TEST(Certificates, OfTwoNodesDoNotPretendToKnowWhose) {
  ControlWorld world(Signing());
  world.ConnectNodes(2);
  MakeLossy(world, "n2");
  const v1::Certificate certificate = Finish(world, Nodes(2)).certificate();
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(NotPassing(certificate), "n1 VERDICT_UNKNOWN n2 VERDICT_UNKNOWN ");
}

TEST(Certificates, AreUnknownOfNodesThatCannotBeSeen) {
  ControlWorld world(Signing());
  world.ConnectNodes(4);
  world.agents.Disconnect("n4", "reset");
  world.agents.Advance(100ms);
  v1::CertificateRequest request = Nodes(4);
  request.add_nodes("n44");
  const v1::Certificate certificate = Finish(world, request).certificate();
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_UNKNOWN);
  EXPECT_THAT(Of(certificate, "n4").reasons(), ElementsAre("lost: connection closed: reset"));
  EXPECT_THAT(Of(certificate, "n44").reasons(0), HasSubstr("unknown node; did you mean 'n4'?"));
  EXPECT_EQ(Of(certificate, "n1").verdict(), v1::VERDICT_PASS);
  const v1::Certificate nobody = Finish(world,
                                        [] {
                                          v1::CertificateRequest none;
                                          none.add_nodes("x1");
                                          return none;
                                        }())
                                     .certificate();
  EXPECT_EQ(nobody.verdict(), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(nobody.campaign(), "");
}

TEST(Certificates, OfNamesThatAreNotKnownAreBounded) {
  ControlWorld world(Signing());
  world.ConnectNodes(2);
  v1::CertificateRequest wanted = Nodes(2);
  for (int n = 0; n < 1000; ++n) wanted.add_nodes(Format("m{}", n));
  const v1::GetCertificateResponse done = Finish(world, wanted);
  int suggestions = 0;
  for (const v1::CertifiedNode& node : done.certificate().nodes())
    for (const std::string& reason : node.reasons())
      suggestions += reason.find("did you mean") != std::string::npos ? 1 : 0;
  EXPECT_GT(suggestions, 0);
  EXPECT_LE(suggestions, 5);
  wanted.add_nodes("m1000");
  EXPECT_EQ(Start(world, wanted).status(),
            Status(Code::kInvalidArgument, "nodes: expected at most 1000 unknown names, saw 1001"));
}

TEST(Certificates, AreDoneInTimeWhateverTheAgentsDo) {
  ControlWorld world(Signing());
  world.ConnectNodes(4);
  for (const char* node : {"n1", "n2", "n3", "n4"})
    world.agents.Behave(node, Behaviour::kNeverFinishes);
  v1::CertificateRequest request = Nodes(4);
  request.set_within_seconds(3);
  const v1::Certificate certificate = Finish(world, request, 3s).certificate();
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_UNKNOWN);
  for (const v1::CertifiedNode& node : certificate.nodes())
    EXPECT_EQ(node.verdict(), v1::VERDICT_UNKNOWN) << node.DebugString();
}

// The campaign of a certificate refutes a fault that an earlier one located. In a large fleet nodes
// report all the time, so the last evaluation was a moment ago.
TEST(Certificates, PassAfterARepairAtAnyTimeOfTheLastEvaluation) {
  ControlWorld world(Signing());
  // Without GPU: no campaign of their memory follows.
  for (const v1::NodeSnapshot& node : testing::Nodes(5, testing::RoceNode, {.gpu = false}))
    ASSERT_TRUE(world.agents.Connect(node).ok());
  bool broken = true;
  world.agents.SetPath([&](const v1::ProbeAssignment& probe, v1::ProbeResult& result) {
    if (!broken || (probe.local().node() != "n2" && probe.remote().node() != "n2")) return;
    result = {};
    result.set_status(v1::PROBE_STATUS_FAILED);
    result.set_reason("transport retry counter exceeded");
  });
  v1::NodeSnapshot busy = testing::RoceNode({.number = 5, .gpu = false});
  const auto step = [&](std::uint32_t number) {
    testing::SetMtu(busy, 0, 4200 + number % 2);
    EXPECT_TRUE(world.agents.SendSnapshot(busy).ok());
    world.agents.Advance(100ms);
  };
  for (std::uint32_t phase = 0; phase < 2; ++phase) {
    broken = true;
    EXPECT_EQ(Of(Finish(world, Nodes(4)).certificate(), "n2").verdict(), v1::VERDICT_FAIL);
    world.agents.Advance(1s);
    EXPECT_THAT(world.OpenFindings(), Contains(StartsWith("probe_blame")));
    broken = false;
    for (std::uint32_t before = 0; before < 10 + phase; ++before) step(before);
    const auto started = Start(world, Nodes(4));
    ASSERT_TRUE(started.ok()) << started.status().message();
    v1::Certificate certificate;
    for (std::uint32_t n = 0; n < 300 && certificate.state() != v1::CERTIFICATE_STATE_DONE; ++n) {
      step(n);
      certificate = Get(world, started->id())->certificate();
    }
    EXPECT_EQ(Of(certificate, "n2").verdict(), v1::VERDICT_PASS) << certificate.DebugString();
  }
}

TEST(Certificates, OfOneNodeSayThatItWasAlone) {
  ControlWorld world(Signing());
  world.ConnectNodes(3);
  const v1::Certificate certificate = Finish(world, Nodes(1)).certificate();
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_PASS) << certificate.DebugString();
  EXPECT_EQ(certificate.nodes(0).ports(), 2u);
  EXPECT_EQ(certificate.pairs_probed(), 2u);
  EXPECT_EQ(certificate.pairs_possible(), 2u) << "each port with itself";
  EXPECT_THAT(testing::Texts(certificate.not_covered()),
              Contains(HasSubstr("paths to other nodes")));
}

TEST(Certificates, EndWithTheControllerAndSaySo) {
  ControlWorld world(Signing());
  world.ConnectNodes(2);
  for (const char* node : {"n1", "n2"}) world.agents.Behave(node, Behaviour::kNeverFinishes);
  const auto started = Start(world, Nodes(2));
  ASSERT_TRUE(started.ok());
  world.agents.Advance(1s);
  world.Restart();
  const auto ended = Get(world, started->id());
  ASSERT_TRUE(ended.ok()) << ended.status().message();
  EXPECT_EQ(ended->certificate().end_reason(), "fabricd was restarted");
  EXPECT_EQ(ended->certificate().verdict(), v1::VERDICT_UNKNOWN);
  EXPECT_THAT(ended->certificate().nodes(0).reasons(), ElementsAre("fabricd was restarted"));
  EXPECT_EQ(world.Campaign(started->campaign()).state(), v1::CAMPAIGN_STATE_CANCELLED);
}

TEST(Certificates, SayWhatCannotBeMeant) {
  ControlWorld world(Signing());
  world.ConnectNodes(2);
  EXPECT_EQ(Start(world, {}).status(),
            Status(Code::kInvalidArgument, "nodes: expected at least one, saw none"));
  v1::CertificateRequest request = Nodes(2);
  request.set_within_seconds(1);
  EXPECT_EQ(Start(world, request).status(),
            Status(Code::kInvalidArgument, "within_seconds: expected 2 to 3600, saw 1"));
  request = Nodes(1);
  request.add_nodes("a b");
  EXPECT_EQ(Start(world, request).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Get(world, "c1").status().code(), Code::kNotFound);

  for (const char* node : {"n1", "n2"}) world.agents.Behave(node, Behaviour::kNeverFinishes);
  v1::StartCertificateRequest of_ada;
  *of_ada.mutable_request() = Nodes(2);
  of_ada.set_author("ada");
  v1::Certificate certificate;
  for (int n = 0; n < 8; ++n)
    EXPECT_TRUE(world.controller->Call(of_ada, certificate, world.agents.now()).ok());
  EXPECT_EQ(world.controller->Call(of_ada, certificate, world.agents.now()),
            Status(Code::kResourceExhausted,
                   "ada: certificates_of_caller: expected at most 8 certificates, saw 9"));
  for (int n = 8; n < 16; ++n) EXPECT_TRUE(Start(world, Nodes(2)).ok());
  EXPECT_EQ(Start(world, Nodes(2)).status().code(), Code::kResourceExhausted);

  ControlWorld without;
  without.ConnectNodes(2);
  EXPECT_EQ(Start(without, Nodes(2)).status().code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace fabric::control
