#include "proto/names.h"

#include <gtest/gtest.h>

namespace fabric {
namespace {

TEST(Name, UnsetIsAQuestionMark) {
  EXPECT_EQ(Name(v1::PORT_STATE_UNSPECIFIED), "?");
  EXPECT_EQ(Name(static_cast<v1::PortState>(77)), "?");
  EXPECT_EQ(Name(v1::PORT_STATE_ACTIVE), "ACTIVE");
  EXPECT_EQ(Name(v1::GAP_CODE_NOT_FOUND), "NOT_FOUND");
}

TEST(BitRate, KeepsThreeDigits) {
  EXPECT_EQ(BitRate(400e9), "400 Gb/s");
  EXPECT_EQ(BitRate(2.5e9), "2.5 Gb/s");
  EXPECT_EQ(BitRate(123'456'789), "123 Mb/s");
  EXPECT_EQ(BitRate(999.9e6), "1 Gb/s");
}

TEST(SubjectName, IsAsNarrowAsTheSubject) {
  v1::Subject subject;
  EXPECT_EQ(SubjectName(subject), "fleet");
  subject.set_rail(0);
  EXPECT_EQ(SubjectName(subject), "rail 0");
  subject.set_node("n1");
  subject.set_netdev("eth1");
  EXPECT_EQ(SubjectName(subject), "n1/eth1");
  subject.set_device("mlx5_0");
  subject.set_port(1);
  EXPECT_EQ(SubjectName(subject), "n1/mlx5_0/1");
}

}  // namespace
}  // namespace fabric
