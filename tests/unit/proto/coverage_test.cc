#include "proto/coverage.h"

#include <gtest/gtest.h>

namespace fabric {
namespace {

TEST(CoverageGap, TextStartsWithTheSubject) {
  v1::ProbePort port;
  port.set_node("n4");
  port.set_device("rxe0");
  port.set_port(1);
  const v1::CoverageGap of_port =
      CoverageGapOf(port, v1::COVERAGE_GAP_REASON_PORT_NOT_ACTIVE, "port is DOWN");
  EXPECT_EQ(of_port.reason(), v1::COVERAGE_GAP_REASON_PORT_NOT_ACTIVE);
  EXPECT_EQ(SubjectName(of_port), "n4/rxe0/1");
  EXPECT_EQ(ToString(of_port), "n4/rxe0/1: port is DOWN");
  EXPECT_EQ(ToString(CoverageGapOf("n4", v1::COVERAGE_GAP_REASON_NODE_LOST, "lost")), "n4: lost");
  v1::CoverageGap general = CoverageGapOf(v1::COVERAGE_GAP_REASON_TIME_LIMIT, "no time");
  EXPECT_EQ(ToString(general), "no time");
  general.set_rule("port_active");
  EXPECT_EQ(ToString(general), "rule port_active: no time");
}

}  // namespace
}  // namespace fabric
