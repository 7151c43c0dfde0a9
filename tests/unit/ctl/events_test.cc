// The command events.
#include <gtest/gtest.h>

#include "base/text.h"
#include "proto/events.h"
#include "proto/json.h"
#include "tests/testing/golden.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using fabric::testing::MatchesGolden;

FakeController WithEvents() {
  FakeController controller;
  for (const std::string_view json : {
           R"({"sequence": "7", "at": "2026-11-21T01:16:05Z",
               "node": {"name": "n1", "state": "NODE_STATE_CONNECTED"}})",
           R"({"sequence": "8", "at": "2026-11-21T01:16:06Z",
               "node": {"name": "n2", "state": "NODE_STATE_LOST", "lost_reason": "stream broke"}})",
           R"({"sequence": "9", "at": "2026-11-21T01:16:07Z", "finding": {
               "rule": "port_active", "severity": "SEVERITY_CRITICAL",
               "state": "FINDING_STATE_OPEN", "title": "state is DOWN, expected ACTIVE",
               "subject": {"node": "n1", "device": "rxe0", "port": 1}}})",
           R"({"sequence": "10", "at": "2026-11-21T01:16:08Z", "campaign": {
               "id": "c1", "state": "CAMPAIGN_STATE_DONE", "probes_planned": 1, "probes_ok": 1}})",
           R"({"sequence": "11", "at": "2026-11-21T01:16:09Z", "pair_result": {
               "from": {"node": "n1", "rail": 1}, "to": {"node": "n2", "rail": 1},
               "probe": {"rc_write_latency": {}},
               "result": {"status": "PROBE_STATUS_OK", "latency": {"median_us": 12.345}}}})",
           R"({"sequence": "12", "at": "2026-11-21T01:16:10Z", "port": {
               "node": "n1", "device": "rxe0", "port": 1, "before": "PORT_STATE_ACTIVE",
               "after": "PORT_STATE_DOWN"}})",
           R"({"sequence": "13", "at": "2026-11-21T01:16:11Z"})",
           R"({"sequence": "14", "at": "2026-11-21T01:16:12Z", "ports": {"node": "n1", "total": 3,
               "ports": [{"device": "rxe0", "port": 1, "after": "PORT_STATE_DOWN"},
                         {"device": "rxe1", "port": 1, "after": "PORT_STATE_DOWN"}]}})",
           R"({"sequence": "15", "cursor": "ab-15", "at": "2026-11-21T01:16:13Z",
               "gap": {"reason": "7 events discarded", "missed": "7"}})",
       })
    controller.events.push_back(FromText<v1::Event>(json));
  return controller;
}

// The names are asked for before the events, the state after a gap later: without lost nodes.
FakeController WithEventsAndNames() {
  FakeController controller = WithEvents();
  for (const char* const node : {"n1", "n2", "n3", "n4", "n9"})
    controller.Answer<v1::ListNodesResponse>().add_nodes()->set_name(node);
  controller.Answers<v1::ListNodesResponse>().emplace_back();
  controller.Answer<v1::ListRulesResponse>().add_rules()->set_id("port_active");
  return controller;
}

TEST(Events, OneLineEach) {
  FakeController controller = WithEvents();
  const Said said = RunWords("events --watch", controller);
  EXPECT_TRUE(MatchesGolden("ctl/events", said.out));
}

TEST(Events, OneJsonObjectOnEachLine) {
  FakeController controller = WithEvents();
  controller.events.resize(2);
  EXPECT_EQ(
      RunWords("events --watch -o json", controller).out,
      ToJson(controller.events[0], false) + "\n" + ToJson(controller.events[1], false) + "\n");
}

TEST(Events, EndOfTheStreamSaysHowToGoOn) {
  FakeController controller = WithEvents();
  const Said said = RunWords("events --watch --since 6", controller);
  EXPECT_EQ(controller.LastRequest<v1::WatchEventsRequest>().after_sequence(), 6u);
  EXPECT_EQ(
      said.err,
      "fabricctl: stream ended; to resume: fabricctl events --watch --since ab-15; check that "
      "fabricd is running and --controller is correct\n");
  EXPECT_EQ(said.status, kExitUnreachable);
}

TEST(Events, AFilterThatIsNotValidCannotBeResumed) {
  FakeController controller;
  controller.failure = Status(Code::kInvalidArgument, "filter: 'x': expected FIELD=VALUE");
  const Said said = RunWords("events --since 1h --filter x", controller);
  EXPECT_EQ(said.err, "fabricctl: filter: 'x': expected FIELD=VALUE\n");
  EXPECT_EQ(said.status, kExitUsage);
}

TEST(Events, AfterAGapTheStateIsListedAgain) {
  FakeController controller;
  controller.events = {FromText<v1::Event>(
      R"({"sequence": "15", "cursor": "ab-15", "at": "2026-11-21T01:16:13Z",
          "gap": {"reason": "the controller restarted"}})")};
  *controller.Answer<v1::ListNodesResponse>().add_nodes() = FromText<v1::NodeSummary>(
      R"({"name": "n2", "state": "NODE_STATE_LOST", "lost_reason": "power",
          "state_since": "2026-11-21T01:00:00Z"})");
  *controller.Answer<v1::ListFindingsResponse>().add_findings() = FromText<v1::Finding>(
      R"({"rule": "port_active", "severity": "SEVERITY_CRITICAL", "state": "FINDING_STATE_OPEN",
          "title": "state is DOWN", "subject": {"node": "n1"}})");
  const Said said = RunWords("events --watch --since aa-3", controller);
  EXPECT_NE(said.out.find("the controller restarted; the state now follows"), std::string::npos);
  EXPECT_NE(said.out.find("lost: power"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("port_active: state is DOWN"), std::string::npos) << said.out;
  EXPECT_EQ(controller.LastRequest<v1::ListNodesRequest>().filter(), "state=lost");
}

TEST(Events, AChangeOfTheLabelsOfALostNodeIsNotItsLoss) {
  FakeController controller;
  controller.events = {FromText<v1::Event>(
      R"({"sequence": "8", "at": "2026-11-21T01:16:06Z", "node": {"name": "n2",
          "state": "NODE_STATE_LOST", "state_since": "2026-11-21T01:00:00Z",
          "lost_reason": "stream broke", "labels": {"pool": "h100"}}})")};
  EXPECT_NE(RunWords("events", controller).out.find("n2            labels: pool=h100\n"),
            std::string::npos)
      << RunWords("events", controller).out;
}

TEST(Events, EachKindOfEventsCanBeSelected) {
  FakeController controller = WithEvents();
  const std::string help = RunWords("events --help", controller).out;
  for (const v1::Event& event : controller.events) {
    const std::string_view kind = EventKind(event);
    if (kind.empty() || event.has_gap()) continue;
    EXPECT_EQ(RunWords(Format("events --kind {}", kind), controller).err, "") << kind;
    EXPECT_NE(help.find(kind), std::string::npos) << kind;
  }
}

TEST(Events, ResumeByCursor) {
  FakeController controller;
  RunWords("events --watch --since ab-15", controller);
  EXPECT_EQ(controller.LastRequest<v1::WatchEventsRequest>().after_cursor(), "ab-15");
  EXPECT_EQ(controller.LastRequest<v1::WatchEventsRequest>().after_sequence(), 0u);
}

TEST(Events, StopWhenNobodyReads) {
  FakeController controller = WithEvents();
  const Said said = RunWords("events --watch", controller, {.writable = false});
  EXPECT_EQ(said.status, kExitError);
  EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 1);
}

TEST(Events, OfTheLastHourAreListedByDefault) {
  FakeController controller = WithEvents();
  Said said = RunWords("events -o name", controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_EQ(said.out, RunWords("events --since 1h -o name", controller).out);
  EXPECT_EQ(controller.LastRequest<v1::WatchEventsRequest>().after_cursor(), "0-0");
  said = RunWords("events --watch -o name", controller);
  EXPECT_EQ(said.status, kExitUnreachable) << "the stream is not expected to end";
  EXPECT_EQ(controller.LastRequest<v1::WatchEventsRequest>().after_cursor(), "");
}

TEST(Events, AnEmptyListSaysSo) {
  FakeController controller;
  Said said = RunWords("events --since 2h", controller);
  EXPECT_EQ(said.err, "No events since 2h.\n");
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(said.status, kExitOk);
}

TEST(Events, AListIsNotWrittenToAClosedPipe) {
  FakeController controller = WithEvents();
  EXPECT_EQ(RunWords("events", controller, {.writable = false}).status, kExitError);
}

TEST(Events, AreSelectedByKindAndNode) {
  FakeController controller = WithEventsAndNames();
  EXPECT_EQ(RunWords("events --kind finding,campaign -o name", controller).out, "9\n10\nab-15\n")
      << "gaps are always shown";
  EXPECT_EQ(RunWords("events --node n2 -o name", controller).out, "8\n11\nab-15\n");
  EXPECT_EQ(RunWords("events --node n2 --node n9,n[3-4] -o name", controller).out,
            "8\n11\nab-15\n");
  EXPECT_EQ(RunWords("events --kind finding,nod", controller).err,
            "fabricctl: --kind: unknown kind 'nod'; did you mean 'node'?\n");
}

TEST(Events, TheControllerSelectsThem) {
  FakeController controller = WithEventsAndNames();
  const Said said = RunWords(
      "events --kind node,finding --node n[1-2] --rule port_active --filter at>1h", controller);
  const auto request = controller.LastRequest<v1::WatchEventsRequest>();
  EXPECT_EQ(request.filter(), "kind=~node|finding finding.rule=\"port_active\" at>1h");
  EXPECT_EQ(request.nodes_size(), 2);
  EXPECT_EQ(said.out.find("state now follows"), std::string::npos)
      << "an expression about events does not select nodes and findings: " << said.out;
}

TEST(Events, AreSelectedByRule) {
  FakeController controller = WithEventsAndNames();
  EXPECT_EQ(RunWords("events --rule port_active -o name", controller).out, "9\nab-15\n");
}

TEST(Events, AMisspelledRuleOrNodeIsAnError) {
  for (const auto& [words, err] : std::initializer_list<std::pair<const char*, const char*>>{
           {"events --rule port_activ", "unknown rule 'port_activ'; did you mean 'port_active'?"},
           {"events --rule wrong --watch", "unknown rule 'wrong'; see fabricctl rules"},
           {"events --node n22", "unknown node 'n22'; did you mean 'n2'?"},
           {"events --node n1,gone",
            "unknown node 'gone'; of a node that was removed: --filter 'node.name=gone'"}}) {
    FakeController controller = WithEventsAndNames();
    const Said said = RunWords(words, controller);
    EXPECT_EQ(said.err, Format("fabricctl: {}\n", err));
    EXPECT_EQ(said.out, "") << words;
    EXPECT_EQ(said.status, kExitError) << words;
  }
}

// The gap that answers a cursor of no run: the oldest event that is kept.
v1::Event FirstGap(std::string_view at) {
  return FromText<v1::Event>(Format(
      R"({{"sequence": "6", "cursor": "ab-6", "at": "{}", "gap": {{"reason": "restarted"}}}})",
      at));
}

TEST(Events, SinceADurationSkipsOlderEvents) {
  FakeController controller = WithEvents();
  controller.events.insert(controller.events.begin(), FirstGap("2026-11-21T01:16:05Z"));
  const Said said = RunWords("events --since 233s -o name", controller);  // From 01:16:07
  EXPECT_EQ(controller.LastRequest<v1::WatchEventsRequest>().after_cursor(), "0-0");
  EXPECT_TRUE(said.out.starts_with("9\n10\n")) << said.out;
}

TEST(Events, SinceADurationSaysWhatIsNotKept) {
  FakeController controller = WithEvents();
  controller.events.insert(controller.events.begin(), FirstGap("2026-11-21T01:16:05Z"));
  const Said said = RunWords("events --since 1h", controller);
  EXPECT_TRUE(
      said.out.starts_with("2026-11-21T01:16:05Z      6  gap       -             "
                           "the controller keeps no earlier events\n"))
      << said.out;
  EXPECT_NE(said.out.find("connected"), std::string::npos);
  EXPECT_EQ(controller.Requests<v1::ListNodesRequest>().size(), 1u) << "after the other gap alone";
}

TEST(Events, SinceIsADurationACursorOrANumber) {
  FakeController controller;
  EXPECT_EQ(RunWords("events --since yesterday", controller).err,
            "fabricctl: --since: expected a duration such as 1h, or the cursor or number of an "
            "event, saw 'yesterday'\n");
}

TEST(Events, EndAfterTheLimit) {
  FakeController controller = WithEvents();
  const Said said = RunWords("events --limit 2 -o name", controller);
  EXPECT_EQ(said.out, "7\n8\n");
  EXPECT_EQ(said.status, kExitOk);
}

}  // namespace
}  // namespace fabric::ctl
