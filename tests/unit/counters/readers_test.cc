#include "agents/counters/readers.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "agents/counters/file_readers.h"
#include "tests/testing/fake_host.h"
#include "tests/testing/temp_tree.h"

namespace fabric::counters {
namespace {

const std::string kPort = "sys/class/infiniband/mlx5_0/ports/1";

class Readers : public ::testing::Test {
 protected:
  Readers() { tree.File(kPort + "/counters/port_rcv_data", "100\n").Directory("sys/class/net"); }

  // Reads as "100 - 3": a line of what is there.
  static std::string Read(Reader& reader, std::size_t size) {
    std::vector<Reading> readings(size);
    const Status status = reader.Read(readings);
    if (!status.ok()) return std::string(CodeName(status.code()));
    std::string line;
    for (const Reading& reading : readings)
      line += (line.empty() ? "" : " ") + (reading.there ? std::to_string(reading.raw) : "-");
    return line;
  }

  static Group Port(v1::CounterSource source, std::vector<std::string> names) {
    return {.place = {.device = "mlx5_0", .port = 1, .netdev = "", .source = source},
            .names = std::move(names)};
  }
  static Group Netdev(v1::CounterSource source, std::vector<std::string> names) {
    return {.place = {.device = "", .port = 0, .netdev = "eth0", .source = source},
            .names = std::move(names)};
  }

  testing::TempTree tree;
  testing::FakeHost fake{tree.path()};
};

TEST_F(Readers, FilesAreReadAgainFromTheirBeginning) {
  const auto reader =
      OpenReader(fake.host(), Port(v1::COUNTER_SOURCE_PORT, {"port_rcv_data", "gone"}));
  ASSERT_NE(reader, nullptr);
  EXPECT_TRUE(reader->Reads(0));
  EXPECT_EQ(Read(*reader, 2), "100 -");
  tree.File(kPort + "/counters/port_rcv_data", "  7 \n");
  EXPECT_EQ(Read(*reader, 2), "7 -");
}

TEST_F(Readers, AFileThatIsNoNumberIsNotReadAgain) {
  for (const char* text : {"", "N/A (no PMA)\n", "-1\n", "18446744073709551616\n", "1 2\n"}) {
    tree.File(kPort + "/counters/port_rcv_data", text);
    const auto opened = OpenSysfsFiles(
        fake.host().root, {.of = kPort, .folders = {"counters"}, .names = {"port_rcv_data"}});
    EXPECT_EQ(Read(*opened, 1), "-") << text;
    tree.File(kPort + "/counters/port_rcv_data", "5\n");
    EXPECT_EQ(Read(*opened, 1), "-") << text;
  }
}

class CapturedFiles : public Readers {
 protected:
  CapturedFiles() {
    reader = OpenReader(fake.host(), Port(v1::COUNTER_SOURCE_PORT, {"port_rcv_data", "gone"}));
    readings.resize(2);
  }
  // "100 -", with what was read before.
  std::string Next() {
    EXPECT_TRUE(reader->Read(readings).ok());
    std::string line;
    for (const Reading& reading : readings)
      line += (line.empty() ? "" : " ") + (reading.there ? std::to_string(reading.raw) : "-");
    return line;
  }
  std::string NextButOne() {
    Next();
    return Next();
  }
  std::string At(const std::string& path) const { return tree.path() + "/" + path; }

  const std::string file = kPort + "/counters/port_rcv_data";
  std::unique_ptr<Reader> reader;
  std::vector<Reading> readings;
};

TEST_F(CapturedFiles, OneThatWasReplacedIsOpenedAnew) {
  EXPECT_EQ(Next(), "100 -");
  tree.File(file + ".new", "200\n");
  std::filesystem::rename(At(file + ".new"), At(file));
  EXPECT_EQ(NextButOne(), "200 -");
  std::filesystem::rename(At("sys/class/infiniband/mlx5_0"), At("sys/elsewhere"));
  tree.File(file, "3\n");
  EXPECT_EQ(NextButOne(), "3 -") << "another device of its name";
}

TEST_F(CapturedFiles, WhatIsGoneIsNotThereUntilItComesBack) {
  EXPECT_EQ(Next(), "100 -");
  std::filesystem::rename(At("sys/class/infiniband/mlx5_0"), At("sys/elsewhere"));
  EXPECT_EQ(NextButOne(), "- -");
  std::filesystem::rename(At("sys/elsewhere"), At("sys/class/infiniband/mlx5_0"));
  EXPECT_EQ(NextButOne(), "100 -");
  std::filesystem::remove(At(file));
  EXPECT_EQ(NextButOne(), "- -");
}

TEST_F(CapturedFiles, OneWithoutANumberIsGivenAnotherReading) {
  EXPECT_EQ(Next(), "100 -");
  tree.File(file, "");
  EXPECT_EQ(Next(), "100 -") << "it may be about to be written";
  tree.File(file, "101\n");
  EXPECT_EQ(Next(), "101 -");
  tree.File(file, "N/A\n");
  EXPECT_EQ(NextButOne(), "- -");
  tree.File(file, "102\n");
  EXPECT_EQ(Next(), "102 -");
}

TEST_F(Readers, HardwareCountersComeByNetlinkOrElseFromFiles) {
  tree.File(kPort + "/hw_counters/out_of_sequence", "1\n");
  const Group group = Port(v1::COUNTER_SOURCE_HW, {"out_of_sequence", "np_cnp_sent"});
  const auto files = OpenReader(fake.host(), group);
  ASSERT_NE(files, nullptr);
  EXPECT_EQ(Read(*files, 2), "1 -");

  fake.rdma.status = Status();
  fake.rdma.devices = {{.index = 7, .name = "mlx5_0"}};
  fake.rdma.counters[{7, 1}] = {{"np_cnp_sent", 3}, {"new", 9}, {"out_of_sequence", 2}};
  const auto netlink = OpenReader(fake.host(), group);
  ASSERT_NE(netlink, nullptr);
  EXPECT_EQ(Read(*netlink, 2), "2 3");
  fake.rdma.counters[{7, 1}] = {{"out_of_sequence", 4}};
  EXPECT_EQ(Read(*netlink, 2), "4 -");
  fake.rdma.counters.clear();
  EXPECT_EQ(Read(*netlink, 2), "UNIMPLEMENTED");
}

TEST_F(Readers, EthtoolNamesAreAskedForAgainWhenTheirNumberChanges) {
  fake.ethtool.status = Status();
  fake.ethtool.statistics["eth0"] = {{"rx", 1}, {"rx_prio3_pause", 2}};
  const auto reader =
      OpenReader(fake.host(), Netdev(v1::COUNTER_SOURCE_ETHTOOL, {"rx_prio3_pause"}));
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(Read(*reader, 1), "2");
  fake.ethtool.statistics["eth0"] = {{"rx", 1}, {"tx", 7}, {"rx_prio3_pause", 3}};
  EXPECT_EQ(Read(*reader, 1), "3");
  fake.ethtool.statistics["eth0"] = {{"rx", 1}, {"tx", 7}, {"rx_prio4_pause", 8}};
  reader->Refresh();
  EXPECT_EQ(Read(*reader, 1), "-") << "another counter has its place";
}

TEST_F(Readers, PfcFramesComeFromDcb) {
  fake.dcb.status = Status();
  fake.dcb.ieee["eth0"].pfc = host::DcbPfc{};
  fake.dcb.ieee["eth0"].pfc->requests[3] = 11;
  fake.dcb.ieee["eth0"].pfc->indications[4] = 22;
  const auto reader = OpenReader(
      fake.host(), Netdev(v1::COUNTER_SOURCE_DCB,
                          {"pfc_indications_prio4", "pfc_requests_prio3", "pfc_requests_prio9"}));
  ASSERT_NE(reader, nullptr);
  EXPECT_FALSE(reader->Reads(2));
  EXPECT_EQ(Read(*reader, 3), "22 11 -");
  fake.dcb.ieee["eth0"].pfc.reset();
  EXPECT_EQ(Read(*reader, 3), "- - -");
}

TEST_F(Readers, AFileThatIsGoneIsReadAsNotThere) {
  for (const auto source : {v1::COUNTER_SOURCE_PORT, v1::COUNTER_SOURCE_HW}) {
    const auto reader = OpenReader(fake.host(), Port(source, {"gone", "a+b"}));
    EXPECT_TRUE(reader->Reads(0));
    EXPECT_FALSE(reader->Reads(1)) << "a sum is no file";
    EXPECT_EQ(Read(*reader, 2), "- -");
  }
}

TEST_F(Readers, WhatCannotBeOpenedHasNone) {
  EXPECT_EQ(OpenReader(fake.host(), Netdev(v1::COUNTER_SOURCE_ETHTOOL, {"rx"})), nullptr);
  EXPECT_EQ(OpenReader(fake.host(), Netdev(v1::COUNTER_SOURCE_DCB, {"x"})), nullptr);
  EXPECT_EQ(OpenReader(fake.host(), Netdev(v1::COUNTER_SOURCE_UNSPECIFIED, {"x"})), nullptr);
}

}  // namespace
}  // namespace fabric::counters
