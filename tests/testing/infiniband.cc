#include "tests/testing/infiniband.h"

#include <gtest/gtest.h>

#include "subnet/builder.h"
#include "subnet/files/formats.h"

namespace fabric::testing {

subnet::Subnet SubnetOf(std::string_view text) {
  subnet::Builder builder;
  const Status added = subnet::AddFile("net.txt", text, builder);
  EXPECT_TRUE(added.ok()) << added.message();
  return builder.Finish();
}

fleet::InfinibandTopology TopologyOf(std::string_view text) {
  const subnet::Subnet all = SubnetOf(text);
  const subnet::Subnet* const subnets[] = {&all};
  return fleet::InfinibandTopology::Of(subnets);
}

}  // namespace fabric::testing
