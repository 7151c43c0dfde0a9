#include "proto/events.h"

#include <gtest/gtest.h>

#include "proto/json.h"

namespace fabric {
namespace {

v1::Event FromText(std::string_view json) {
  v1::Event event;
  EXPECT_TRUE(FromJson(json, event).ok()) << json;
  return event;
}

TEST(Events, HaveAKindAndNodes) {
  struct Row {
    std::string_view json;
    std::string_view kind;
    bool of_n1;
  };
  const NodeSet n1 = {"n0", "n1"};
  for (const Row& row : {
           Row{R"({"node": {"name": "n1"}})", "node", true},
           Row{R"({"node": {"name": "n11"}})", "node", false},
           Row{R"({"finding": {"subject": {"node": "n1"}}})", "finding", true},
           Row{R"({"finding": {"affected": [{"node": "n2"}, {"node": "n1"}]}})", "finding", true},
           Row{R"({"finding": {"subject": {"node": "n2"}}})", "finding", false},
           Row{R"({"campaign": {"id": "n1"}})", "campaign", false},
           Row{R"({"pair_result": {"from": {"node": "n2"}, "to": {"node": "n1"}}})", "probe", true},
           Row{R"({"pair_result": {"from": {"node": "n1"}}})", "probe", true},
           Row{R"({"port": {"node": "n1"}})", "port", true},
           Row{R"({"ports": {"node": "n1"}})", "port", true},
           Row{R"({"gap": {"reason": "n1"}})", "gap", false},
           Row{R"({})", "", false},
       }) {
    EXPECT_EQ(EventKind(FromText(row.json)), row.kind) << row.json;
    EXPECT_EQ(IsAbout(FromText(row.json), n1), row.of_n1) << row.json;
  }
}

}  // namespace
}  // namespace fabric
