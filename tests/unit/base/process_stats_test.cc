#include "base/process_stats.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>

namespace fabric {
namespace {

std::map<std::string, double> Read() {
  std::map<std::string, double> values;
  const WallTime started(std::chrono::milliseconds(1'700'000'000'500));
  for (const ProcessStat& stat : ReadProcessStats(started))
    if (stat.value) values[std::string(stat.name)] = *stat.value;
  return values;
}

TEST(ProcessStats, AreThoseOfThisProcess) {
  const auto values = Read();
  EXPECT_EQ(values.size(), 6u);
  EXPECT_GT(values.at("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(values.at("process_virtual_memory_bytes"), values.at("process_resident_memory_bytes"));
  EXPECT_GT(values.at("process_max_fds"), values.at("process_open_fds"));
  EXPECT_DOUBLE_EQ(values.at("process_start_time_seconds"), 1'700'000'000.5);
}

TEST(ProcessStats, CountOpenFiles) {
  const double before = Read().at("process_open_fds");
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(Read().at("process_open_fds"), before + 1);
  ::close(fd);
}

TEST(ProcessStats, CpuTimeGrows) {
  const double before = Read().at("process_cpu_seconds_total");
  double after = before;
  for (int round = 0; round < 1'000'000 && after <= before; ++round)
    after = Read().at("process_cpu_seconds_total");
  EXPECT_GT(after, before);
}

}  // namespace
}  // namespace fabric
