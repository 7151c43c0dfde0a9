// What went wrong in real clusters, as their logs told it: the cause that was found in the end
// comes first. Names say what it was; the lines are made up in the real formats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/unit/explain/explained.h"

namespace fabric::explain {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kWarn = "n1:10:20 [0] transport/net_ib.cc:2453 NCCL WARN NET/IB : ";
constexpr std::string_view kInfo = "n1:10:20 [0] NCCL INFO ";

std::string Retry(std::string_view more) {
  return Format(
      "{}Got completion from peer 10.9.0.2<5> with status=12 opcode=0 len=0 vendor err 129 "
      "(Recv){} hca mlx5_1\n",
      kWarn, more);
}

// "job.log:1: n1 has it enabled"
std::vector<std::string> EvidenceOf(const v1::LogCause& cause) {
  std::vector<std::string> lines;
  for (const v1::LogEvidence& evidence : cause.evidence())
    lines.push_back(Format("{}:{}: {}", evidence.file(), evidence.line(), evidence.text()));
  return lines;
}

std::string FirstCause(std::string_view log) {
  const v1::LogExplanation explanation = Explained(log);
  return explanation.causes().empty() ? "none" : explanation.causes(0).id();
}

std::string FirstRule(std::string_view log) {
  const v1::LogExplanation explanation = Explained(log);
  return explanation.causes().empty() ? "none" : explanation.causes(0).rule();
}

TEST(Case, DefaultGidIsLinkLocal) {
  const std::string log = Retry(" localGid fe80::1 remoteGids fe80::2");
  EXPECT_EQ(FirstCause(log), "gid_not_routable");
  EXPECT_EQ(FirstRule(log), "roce_v2_gid_present");
}

// Without evidence: what is most frequent in the field comes first, and the GID is named later.
TEST(Case, RetriesWithoutEvidenceAreNotTheGid) {
  for (const std::string& log :
       {Retry(""),
        std::string("h:1:2 [0] net_ib.cc:839 NCCL WARN NET/IB : Got completion with "
                    "error 12, opcode 1, len 0, vendor err 129\n"),
        std::string("CQE error IBV_WC_RETRY_EXC_ERR (status=12, vendor_err=0xa)\n"),
        std::string("[1700000000.1] [n1:10:0] ucp_ep.c:1 UCX  ERROR Endpoint timeout\n")}) {
    const std::vector<std::string> causes = CauseIds(Explained(log));
    ASSERT_GE(causes.size(), 4U) << log;
    EXPECT_EQ(causes[0], "link_unstable") << log;
    EXPECT_EQ(causes[1], "peer_gone") << log;
    EXPECT_EQ(causes[2], "pfc") << log;
    EXPECT_THAT(causes, Contains("gid_not_routable")) << log;
  }
}

TEST(Case, PerftestCannotRegisterMemoryOfAGpu) {
  const std::string failed = "Couldn't allocate MR\nfailed to create mr\n";
  EXPECT_EQ(FirstCause(failed), "memlock");
  EXPECT_EQ(FirstCause("cuMemAlloc() of a 262144 bytes GPU buffer\n" + failed),
            "peermem_not_loaded");
  EXPECT_EQ(FirstCause(failed + "ERRNO: Bad address.\n"), "peermem_not_loaded");
}

// NCCL before 2.23 names neither the device nor the port.
TEST(Case, GidsChangedWhileAnOldNcclRan) {
  EXPECT_EQ(FirstCause("n1:106:196 [0] transport/net_ib.cc:73 NCCL WARN NET/IB : Got async event : "
                       "GID table change\n"
                       "n1:108:593 [0] transport/net_ib.cc:816 NCCL WARN NET/IB : Got completion "
                       "with error 12, opcode 0, len 32633, vendor err 129\n"),
            "gid_index_moved");
}

// Before NCCL 2.21, index 0 is used unless the job sets one.
TEST(Case, OldNcclUsesGidIndexZero) {
  const std::string used =
      Format("{}NET/IB : Using [0]mlx5_0:1/RoCE ; OOB eth0:10.9.0.1<0>\n", kInfo);
  const auto version = [](std::string_view number) {
    return Format("{}NCCL version {}+cuda10.2\n", kInfo, number);
  };
  EXPECT_EQ(FirstCause(version("2.7.8") + used + Retry("")), "gid_not_routable");
  EXPECT_EQ(FirstCause(version("2.20.5") + used + Retry("")), "gid_not_routable");
  EXPECT_EQ(FirstCause(version("2.21.5") + used + Retry("")), "link_unstable");
  EXPECT_EQ(FirstCause(version("2.7.8") + Retry("")), "link_unstable") << "fabric is not known";
  EXPECT_EQ(FirstCause(version("2.7.8") + used + Retry(" localGid ::ffff:10.9.0.1")),
            "link_unstable");
  EXPECT_EQ(FirstCause(version("2.7.8") + used +
                       Format("{}NCCL_IB_GID_INDEX set by environment to 3.\n", kInfo) + Retry("")),
            "link_unstable");
}

TEST(Case, LinkLocalGidOnABondCannotConnect) {
  EXPECT_EQ(FirstCause("n1:1:2 [0] ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with 110 "
                       "Connection timed out, on dev mlx5_bond_0:1, curr state INIT, next state "
                       "RTR, local GID index 1, local GID fe80::1, remote GID fe80::2\n"),
            "gid_not_routable");
}

TEST(Case, PinnedGidIndexIsRoceV1InThisContainer) {
  const v1::LogExplanation explanation =
      Explained(Format("{}NCCL_IB_GID_INDEX set by environment to 4.\n", kInfo) + Retry(""));
  ASSERT_FALSE(explanation.causes().empty());
  EXPECT_EQ(explanation.causes(0).id(), "gid_not_routable");
  EXPECT_THAT(EvidenceOf(explanation.causes(0)),
              Contains("job.log:1: NCCL_IB_GID_INDEX is set to 4"));
}

TEST(Case, NoRouteBetweenRails) {
  EXPECT_EQ(FirstCause("n1:1:2 [0] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with "
                       "error Network is unreachable\n"),
            "no_route");
  const std::string rails = Format(
      "{}NCCL_CROSS_NIC set by environment to 1.\n"
      "{}Call to ibv_modify_qp failed with 101 Network is unreachable, on dev mlx5_3:1, curr "
      "state INIT, next state RTR, local GID index 3, local GID ::ffff:10.13.0.1, remote GID "
      "::ffff:10.17.0.2\n",
      kInfo, kWarn);
  EXPECT_EQ(FirstCause(rails), "cross_rail");
}

TEST(Case, CrossRailPairsAreNotRoutedWithoutPxn) {
  EXPECT_EQ(FirstCause(Format("{}NCCL_PXN_DISABLE set by environment to 1.\n", kInfo) +
                       Retry(" localGid ::ffff:10.13.0.1 remoteGids::ffff:10.17.0.2")),
            "cross_rail");
}

TEST(Case, AddressOfAnotherRailDoesNotResolve) {
  EXPECT_EQ(
      FirstCause("n1:1:2 [0] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with "
                 "110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR, "
                 "local GID index 3, local GID ::ffff:10.10.0.10, remote GID "
                 "::ffff:10.10.1.12\n"),
      "cross_rail");
  EXPECT_EQ(
      FirstCause("n1:1:2 [0] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with "
                 "110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR, "
                 "local GID index 3, local GID ::ffff:10.10.0.10, remote GID "
                 "::ffff:10.10.0.12\n"),
      "neighbour_silent");
}

TEST(Case, GidIndexMovedAfterAFlap) {
  const std::string changed = Format("{}mlx5_1:1 GID table changed\n", kWarn);
  EXPECT_EQ(FirstCause(changed + Retry(" localGid ::ffff:10.1.0.1 remoteGids::ffff:10.1.0.2")),
            "gid_index_moved");
  EXPECT_EQ(FirstCause(Format("{}mlx5_1:1 unknown event type (18)\n", kWarn)), "gid_index_moved");
}

TEST(Case, PortIsNeverTakenBackAfterAFlap) {
  EXPECT_EQ(FirstCause(Format("{}NET/IB: ncclIbPortRecoveryContextProgress: Marking device 0 as "
                              "permanently failed (send comm=0x7f)\n",
                              kInfo)),
            "gid_index_moved");
}

TEST(Case, RoceVersionOfAnEmptySlotCannotBeRead) {
  const v1::LogExplanation explanation =
      Explained(Format("{}read failed in ncclIbRoceGetVersionNum: Invalid argument\n", kWarn));
  EXPECT_EQ(explanation.causes(0).id(), "versions_differ");
  EXPECT_NE(explanation.problems(0).meaning().find("empty slot"), std::string::npos);
}

TEST(Case, GpuDirectIsOffEverywhere) {
  const std::string off = "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n";
  const v1::LogExplanation explanation = Explained(std::string(kInfo) + off);
  EXPECT_EQ(explanation.causes(0).rule(), "peermem_loaded");
  EXPECT_THAT(CauseIds(explanation), Contains("peermem_not_registered"));
  EXPECT_EQ(FirstCause(Format("{}RCCL version 2.20.5\n{}{}", kInfo, kInfo, off)), "peermem_amd");
}

TEST(Case, GpuDirectIsOffOnOneOfTwoNodes) {
  const v1::LogExplanation explanation = Explained(
      "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
      "n2:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n");
  EXPECT_EQ(explanation.causes(0).id(), "peermem_not_loaded");
  EXPECT_THAT(EvidenceOf(explanation.causes(0)), Contains("job.log:1: n1 has it enabled"));
}

TEST(Case, TwoLayersDisagreeOnGpuDirect) {
  EXPECT_EQ(FirstCause("n1:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA (DMABUF) enabled for HCA 0 "
                       "'rocep1s0f0'\n"
                       "n1:1:2 [0] NCCL INFO NET/NCCL RDMA Plugin v10 : GPU Direct RDMA Disabled "
                       "for HCA 0 'rocep1s0f0'\n"),
            "gdr_plugin");
}

TEST(Case, AcsBreaksGpuDirect) {
  const std::string log = Format(
      "{}Got completion from peer 10.9.0.2<5> with status=4 opcode=0 len=0 vendor err 81 (Send) "
      "hca "
      "mlx5_1\n",
      kWarn);
  EXPECT_EQ(FirstCause(log), "acs");
  EXPECT_EQ(FirstRule(log), "acs_off_between_gpu_and_nic");
  EXPECT_EQ(FirstCause(" Failed status 4: wr_id 0 syndrom 0x51\n"), "acs");
}

// Vendor codes of other drivers are not syndromes of mlx5.
TEST(Case, AVendorCodeIsExplainedForItsDriver) {
  const auto meaning = [](const std::string& hca) {
    return Explained(Format("{}Got completion from peer 10.9.0.2<5> with status=5 opcode=129 len=0 "
                            "vendor err 249 (Recv) hca {}\n",
                            kWarn, hca))
        .problems(0)
        .meaning();
  };
  EXPECT_THAT(meaning("mlx5_1"), HasSubstr("syndrome: mlx5: flushed"));
  EXPECT_THAT(meaning("bnxt_re2"), ::testing::Not(HasSubstr("syndrome")));
}

TEST(Case, GpuInitiatedQueuePairsRideALossyPriority) {
  const std::string log =
      "DOCA: got error completion: syndrome 0x15, vendor syndrome 0x83 on qp 0x4f1\n";
  EXPECT_EQ(FirstCause(log), "traffic_class");
  EXPECT_EQ(FirstRule(log), "pfc_covers_roce_dscp, rdma_on_lossless_priority");
}

// One line that several faults write alike: GID, traffic class and PFC are all named.
TEST(Case, RetriesOverRoceWithUcx) {
  const std::string log =
      "[n1:1:0:1] ib_mlx5_log.c:171  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 "
      "vend 0x81 hw_synd 0/0)\n";
  const std::vector<std::string> causes = CauseIds(Explained(log));
  EXPECT_EQ(causes.front(), "link_unstable");
  EXPECT_THAT(causes, Contains("gid_not_routable"));
  EXPECT_THAT(causes, Contains("pfc"));
  EXPECT_THAT(causes, Contains("traffic_class"));
  EXPECT_EQ(FirstCause(log + "[n1:1:0:1] ib_mlx5_log.c:171  RC QP 0x1a wqe[0]: SEND s-- [rqpn 0xc4 "
                             "dgid=fe80::2 sgid_index=0 traffic_class=0]\n"),
            "gid_not_routable");
}

TEST(Case, ManyPairsLoseAnswersUnderLoad) {
  std::string log;
  for (int i = 1; i <= 4; ++i)
    log += Format(
        "n{}:10:20 [0] NCCL WARN NET/IB : Got completion from peer 10.9.0.{}<5> with "
        "status=12 opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.1.0.{} "
        "remoteGids::ffff:10.1.0.{} hca mlx5_0\n",
        i, i % 4 + 1, i, i % 4 + 1);
  const std::vector<std::string> causes = CauseIds(Explained(log));
  EXPECT_NE(causes.front(), "gid_not_routable");
  EXPECT_THAT(causes, Contains("pfc"));
}

TEST(Case, SeveralNicsOfANodeShareASubnet) {
  std::string log;
  for (int i = 0; i < 2; ++i)
    log += Format(
        "n1:10:20 [0] NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed "
        "out, on dev mlx5_{}:1, curr state INIT, next state RTR, local GID index 3, local "
        "GID ::ffff:10.1.0.{}, remote GID ::ffff:10.1.0.9\n",
        i, i + 1);
  EXPECT_THAT(CauseIds(Explained(log)), Contains("arp_flux"));
}

TEST(Case, VirtualFunctionsOfOneHostDoNotReachEachOther) {
  EXPECT_EQ(FirstCause("n1:10:10 [0] NCCL INFO Bootstrap : Using eth0:10.9.0.2<0>\n" +
                       Retry(" localGid fd00::ff22 remoteGidsfd00::ff1f")),
            "local_vf_loop");
}

TEST(Case, LargeMessagesAreLostByTheMtu) {
  const std::string log =
      "        1024           256     float     sum      -1    22.12    0.05    0.09      0    "
      "22.51\n" +
      Retry(" localGid ::ffff:10.1.0.1 remoteGids::ffff:10.1.0.2");
  EXPECT_EQ(FirstCause(log), "mtu");
}

TEST(Case, EachEndUsesItsOwnMtu) {
  const std::string log = Format(
      "{}Got completion from peer 10.9.0.2<5> with status=9 opcode=0 len=0 vendor err 138 "
      "(Send) hca mlx5_1\n",
      kWarn);
  EXPECT_EQ(FirstCause(log), "mtu");
}

TEST(Case, LockedMemoryIsLimited) {
  const std::string log =
      Format("{}Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\n", kWarn);
  EXPECT_EQ(FirstCause(log), "memlock");
  EXPECT_EQ(FirstRule(log), "memlock_unlimited, job_memlock_unlimited");
  EXPECT_EQ(FirstCause(Format("{}Call to ibv_create_cq failed with error Cannot allocate memory\n",
                              kWarn)),
            "memlock");
}

TEST(Case, AnHcaOfOneNodeCannotBeOpened) {
  const std::string log = Format(
      "{}Unable to open device erdma_1\n"
      "[rank3]:[E1218 20:27:21.4 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught "
      "collective operation timeout: WorkNCCL(SeqNum=1)\n",
      kWarn);
  EXPECT_EQ(FirstCause(log), "device_not_openable");
  EXPECT_THAT(CauseIds(Explained(log)), Contains("hca_set_differs"));
}

TEST(Case, InfinibandAndEthernetHcasTogether) {
  const std::string used = Format(
      "{}NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_bond_0:1/RoCE [RO]; OOB eth0:10.9.0.1<0>\n", kInfo);
  EXPECT_EQ(FirstCause(used), "mixed_link_layers");
  EXPECT_EQ(FirstCause(used + Format("{}Call to ibv_modify_qp failed with error Invalid argument\n",
                                     kWarn)),
            "mixed_link_layers");
}

TEST(Case, PortWasNeverConfiguredByASubnetManager) {
  EXPECT_EQ(FirstCause("\t\tBase lid: 65535\n"), "subnet_manager");
}

TEST(Case, LinksFlapInALongRun) {
  const std::string log =
      Format("{}mlx5_1:1 Got non-fatal async event: port error(10)\n", kWarn) + Retry("");
  EXPECT_EQ(FirstCause(log), "link_unstable");
  EXPECT_EQ(FirstRule(log), "link_stays_up, link_errors_within_limit");
}

TEST(Case, LinksAreSlowerThanTheyCouldBe) {
  EXPECT_EQ(FirstCause("10 21[ ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> 40 1[ ] \"node3 HCA-2\" ( "
                       "Could be 53.125 Gbps)\n"),
            "slow_link");
}

TEST(Case, VirtualFunctionsPortIsDown) {
  EXPECT_EQ(FirstCause("\t\t\tstate:\t\t\tPORT_DOWN (1)\n"), "port_down");
}

TEST(Case, OverInfinibandNothingIsSaidOfRoce) {
  const std::vector<std::string> causes = CauseIds(Explained(
      Format("{}NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.9.0.1<0>\n", kInfo) + Retry("")));
  for (const std::string_view roce :
       {"gid_not_routable", "pfc", "traffic_class", "mtu", "arp_flux"})
    EXPECT_THAT(causes, Not(Contains(roce)));
  EXPECT_THAT(causes, Contains("subnet_manager"));
  EXPECT_THAT(causes, Contains("pkey"));
}

TEST(Case, NothingIsMadeUp) {
  const v1::LogExplanation explanation =
      Explained("step 1 loss 2.3\nsomething failed: status 12\nconnection to redis lost\n");
  EXPECT_THAT(explanation.problems(), IsEmpty());
  EXPECT_THAT(explanation.causes(), IsEmpty());
  EXPECT_FALSE(explanation.has_first_failure());
}

TEST(Case, ARoutableGidOfThePeerRefutesALinkLocalOne) {
  const std::string log =
      "[1700000000.1] [n1:10:0] ib_mlx5_log.c:177 UCX  ERROR Transport retry count exceeded on "
      "mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)\n"
      "[1700000000.1] [n1:10:0] ib_mlx5_log.c:177 UCX  ERROR RC QP 0x5b wqe[0]: SEND s-e "
      "[inl len 18] [rqpn 0x5c dgid=::ffff:10.20.3.14 sgid_index=3 traffic_class=0]\n";
  EXPECT_NE(FirstCause(log), "gid_not_routable");
  EXPECT_EQ(FirstCause(Retry(" localGid ::ffff:10.9.0.1")).find("gid_not_routable"),
            std::string::npos);
}

// The index that the job sets shows in the GIDs of the line.
TEST(Case, RoutableGidsRefuteTheGidIndexOfTheJob) {
  for (const char* index : {"0", "1"}) {
    const v1::LogExplanation explanation =
        Explained(Format("{}NCCL_IB_GID_INDEX set by environment to {}.\n", kInfo, index) +
                  Retry(" localGid ::ffff:10.9.0.1 remoteGids ::ffff:10.9.0.2"));
    ASSERT_FALSE(explanation.problems().empty());
    ASSERT_FALSE(explanation.problems(0).causes().empty());
    EXPECT_NE(explanation.problems(0).causes(0), "gid_not_routable");
    EXPECT_NE(explanation.causes(0).id(), "gid_not_routable");
  }
}

TEST(Case, EachStatedCauseComesBeforeAlternativesOfTheFirst) {
  const v1::LogExplanation explanation = Explained(
      "[ 100.1] mlx5_core 0000:17:00.0 rail0: Link down\n"
      "[ 101.1] NVRM: Xid (PCI:0000:9d:00): 79, pid=1234, GPU has fallen off the bus.\n");
  ASSERT_GE(explanation.causes_size(), 2);
  EXPECT_EQ(explanation.causes(0).id(), "link_unstable");
  EXPECT_EQ(explanation.causes(1).id(), "gpu_failed");
}

}  // namespace
}  // namespace fabric::explain
