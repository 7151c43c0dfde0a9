// Whole logs: who speaks and when, many ranks, streams, and what is not text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "daemon/explain/lines.h"
#include "daemon/explain/origin.h"
#include "tests/unit/explain/explained.h"

namespace fabric::explain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kPortError = "NCCL WARN NET/IB : mlx5_1:1 Got async event : port error";

std::string Retry(std::string_view host, std::string_view peer, std::string_view prefix = "") {
  return Format(
      "{}{}:10:20 [0] NCCL WARN NET/IB : Got completion from peer {}<5> with status=12 "
      "opcode=0 len=0 vendor err 129 (Recv) hca mlx5_1\n",
      prefix, host, peer);
}

TEST(Origin, OfNcclUcxTheKernelAndLaunchers) {
  struct Row {
    std::string_view line;
    std::string_view host;
    int rank;
    std::string_view time;
  };
  const Row rows[] = {
      {"node-1:5776:5902 [0] NCCL INFO x", "node-1", -1, ""},
      {"[2026-03-03 12:11:38] a.b.c:5776:5902 [0] net.cc:2 NCCL WARN x", "a.b.c", -1,
       "2026-03-03 12:11:38"},
      {"[1736959004.001121] [bernie:29714:0]        ib_iface.c:1060 UCX  ERROR x", "bernie", -1,
       "1736959004.001121"},
      {"[nic5-w050:2213736:0:2213736] ib_mlx5_log.c:171  x", "nic5-w050", -1, ""},
      {"3: [1736959004.001121] [bernie:29714:0] ib_md.c:1 UCX  ERROR x", "bernie", 3,
       "1736959004.001121"},
      {"[rank7]: node-1:1:2 [0] NCCL WARN x", "node-1", 7, ""},
      {"[1,17]<stderr>:node-1:1:2 [0] NCCL WARN x", "node-1", 17, ""},
      {"[03/16][2025-02-25 15:46:48,389] [misc/socket.cc:602] [s11gn1268:pid=3987720] NCCL WARN x",
       "s11gn1268", 3, "2025-02-25 15:46:48,389"},
      {"[rank0]:[E1218 20:27:21.426415540 ProcessGroupNCCL.cpp:629] [Rank 0] x", "", 0,
       "1218 20:27:21.426415540"},
      {"2026-10-03T05:58:06-0400 h7 kernel: mlx5_core 0000:61:00.0: x", "h7", -1,
       "2026-10-03T05:58:06"},
      {"Mar  3 12:11:38 h7 kernel: [1.5] mlx5_core x", "h7", -1, "Mar  3 12:11:38"},
      {"[   51.227747] mlx5_core 0000:41:00.1: x", "", -1, "51.227747"},
      {"[pod/worker-3/main] 2026-05-01T01:02:03Z NCCL WARN x", "worker-3", -1,
       "2026-05-01T01:02:03"},
      {"gpu-07: NCCL WARN x", "gpu-07", -1, ""},
      {"12:11:38 [0] x", "", -1, ""},
  };
  const OriginReader reader;
  for (const Row& row : rows) {
    const Origin origin = reader.Read(row.line);
    EXPECT_EQ(origin.host, row.host) << row.line;
    EXPECT_EQ(origin.rank ? static_cast<int>(*origin.rank) : -1, row.rank) << row.line;
    EXPECT_EQ(origin.time_text, row.time) << row.line;
  }
}

TEST(Origin, TimesAreInOrder) {
  const OriginReader reader;
  const LogTime early = reader.Read("[2026-03-31 23:59:59] x").time;
  const LogTime late = reader.Read("[2026-04-01 00:00:00] x").time;
  EXPECT_TRUE(early.ComparesWith(late));
  EXPECT_LT(early.seconds, late.seconds);
  EXPECT_FALSE(early.ComparesWith(reader.Read("[   51.227747] x").time));
  EXPECT_FALSE(LogTime{}.ComparesWith(LogTime{}));
}

TEST(Log, SameMessageOfManyRanksIsOneProblem) {
  std::string log =
      "n1:10:10 [0] NCCL INFO comm 0x5 rank 4 nranks 8 cudaDev 0\n"
      "n2:10:10 [0] NCCL INFO Bootstrap : Using eth0:10.9.0.2<0>\n";
  for (int i = 0; i < 50; ++i) log += Retry("n1", "10.9.0.2") + Retry("n2", "10.9.0.1");
  const v1::LogExplanation explanation = Explained(log);
  ASSERT_THAT(explanation.problems(), SizeIs(1));
  const v1::LogProblem& problem = explanation.problems(0);
  EXPECT_EQ(problem.count(), 100U);
  EXPECT_EQ(problem.first().line(), 3U);
  EXPECT_EQ(problem.first().host(), "n1");
  EXPECT_EQ(problem.first().rank(), 4U);
  EXPECT_EQ(problem.first().hca(), "mlx5_1");
  EXPECT_EQ(problem.first().peer_host(), "n2");
  EXPECT_THAT(problem.hosts(), ElementsAre("n1", "n2"));
  EXPECT_THAT(problem.peers(), ElementsAre("10.9.0.1", "n2"));
  EXPECT_EQ(explanation.files(0).lines(), 102U);
  EXPECT_EQ(explanation.files(0).recognised(), 100U);
}

TEST(Log, FlushesAndAbortsFollowEvenWhenTheyComeFirst) {
  const v1::LogExplanation explanation = Explained(
      "n2:1:2 [0] NCCL WARN NET/IB : Got completion from peer 10.9.0.1<5> with status=5 opcode=0 "
      "len=0 vendor err 249 (Recv)\n"
      "n2: Test NCCL failure common.cu:958 'unhandled system error'\n" +
      Retry("n1", "10.9.0.2"));
  EXPECT_THAT(ProblemIds(explanation),
              ElementsAre("completion_12_129", "completion_5_249", "unhandled_system_error"));
  EXPECT_EQ(explanation.first_failure().line(), 3U);
}

TEST(Log, FirstInTimeComesBeforeFirstInTheFile) {
  const v1::LogExplanation explanation =
      Explained(Retry("n2", "10.9.0.1", "[2026-03-03 12:00:09] ") +
                Retry("n1", "10.9.0.2", "[2026-03-03 12:00:01] "));
  EXPECT_EQ(explanation.first_failure().host(), "n1");
  EXPECT_EQ(explanation.first_failure().line(), 2U);
}

TEST(Log, WhatComesLongAfterTheFailureIsNotItsCause) {
  const std::string retry = Retry("n1", "10.9.0.2", "[2026-03-03 12:00:00] ");
  const auto first = [&](std::string_view time) {
    return Explained(retry + Format("[2026-03-03 {}] n1:1:2 [0] {}\n", time, kPortError))
        .problems(0)
        .id();
  };
  EXPECT_EQ(first("11:59:30"), "port_error");
  EXPECT_EQ(first("12:00:30"), "port_error");
  EXPECT_EQ(first("12:05:00"), "completion_12_129");
}

TEST(Log, OnlyConsequencesAreSaidToBeThat) {
  const v1::LogExplanation explanation = Explained(
      "[rank3]:[E1218 20:27:21.4 P.cpp:629] [Rank 3] Watchdog caught collective operation "
      "timeout: WorkNCCL(SeqNum=1)\n");
  EXPECT_EQ(explanation.problems(0).role(), v1::LOG_ROLE_CONSEQUENCE);
  EXPECT_EQ(explanation.causes(0).id(), "straggler");
  EXPECT_EQ(explanation.first_failure().rank(), 3U);
}

TEST(Log, NodeThatMostOthersNameIsSuspected) {
  std::string log;
  for (int i = 1; i <= 5; ++i) log += Retry(Format("n{}", i), "10.9.0.9");
  const v1::LogExplanation explanation = Explained(log);
  ASSERT_THAT(explanation.suspects(), SizeIs(1));
  EXPECT_EQ(explanation.suspects(0).node(), "10.9.0.9");
  EXPECT_EQ(explanation.suspects(0).reason(),
            "5 of 5 other nodes that failed name it as their peer");
  EXPECT_THAT(Explained(Retry("n1", "10.9.0.2") + Retry("n2", "10.9.0.1")).suspects(), IsEmpty());
}

TEST(Log, SeveralFilesAreOneJob) {
  Patterns patterns;
  Explainer explainer(patterns);
  explainer.BeginFile("rank0.log");
  explainer.Add(Retry("n1", "10.9.0.2", "[2026-03-03 12:00:09] "));
  explainer.BeginFile("rank1.log");
  explainer.Add("[2026-03-03 12:00:01] n2:1:2 [0] " + std::string(kPortError));
  const v1::LogExplanation explanation = explainer.Finish();
  EXPECT_THAT(ProblemIds(explanation), ElementsAre("port_error", "completion_12_129"));
  EXPECT_EQ(explanation.first_failure().file(), "rank1.log");
  EXPECT_EQ(explanation.first_failure().line(), 1U);
  EXPECT_EQ(explanation.files(1).lines(), 1U);
}

TEST(Log, PiecesOfAnySizeSayTheSame) {
  const std::string log = "\x1b[33mwarm-up\x1b[0m\r\n" + Retry("n1", "10.9.0.2") +
                          "10%|##\r20%|####\r" + Retry("n2", "10.9.0.1", "[rank1]: ");
  const std::string whole = Explained(log).SerializeAsString();
  for (const std::size_t size : {1U, 2U, 7U, 100U}) {
    Patterns patterns;
    Explainer explainer(patterns);
    explainer.BeginFile("job.log");
    for (std::size_t at = 0; at < log.size(); at += size)
      explainer.Add(std::string_view(log).substr(at, size));
    EXPECT_EQ(explainer.Finish().SerializeAsString(), whole) << size;
  }
  EXPECT_EQ(Explained(log).problems(0).count(), 2U);
  EXPECT_EQ(Explained(log).problems(0).first().line(), 2U);
}

TEST(Log, ColoursCrlfAndJunkDoNoHarm) {
  const v1::LogExplanation explanation = Explained(
      std::string("\0\xff\xfe\x01\n", 5) + "\x1b[31mn1:1:2 [0] " + std::string(kPortError) +
      "\x1b[0m\r\n" + std::string(300000, 'x') + "\n" + std::string(kPortError));
  ASSERT_THAT(explanation.problems(), SizeIs(1));
  EXPECT_EQ(explanation.problems(0).count(), 2U);
  EXPECT_EQ(explanation.problems(0).first().text(), "n1:1:2 [0] " + std::string(kPortError));
  EXPECT_EQ(explanation.files(0).lines(), 4U);
}

TEST(Log, CommandsNameWhatTheLogNames) {
  const v1::LogExplanation explanation = Explained(
      "n1:1:2 [0] NCCL WARN NET/IB : Got completion from peer 10.9.0.2<5> with status=12 "
      "opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.1.0.1 "
      "remoteGids::ffff:10.1.0.2 hca mlx5_1\n");
  std::string checks;
  for (const v1::LogCause& cause : explanation.causes()) checks += cause.check() + "\n";
  EXPECT_THAT(checks, HasSubstr("ping -I NETDEV -M do -s 4172 10.1.0.2;"));
  EXPECT_THAT(checks, HasSubstr("mlxlink -d mlx5_1 -m -c"));
}

TEST(LineSplitter, CountsLinesAndCutsLongOnes) {
  std::vector<std::string> parts;
  LineSplitter splitter;
  const auto take = [&](std::uint64_t line, std::string_view text) {
    parts.push_back(Format("{}:{}", line, text.size()));
  };
  const std::size_t cut = LineSplitter::kPartBytesMax;
  splitter.Add(std::string(cut + 10, 'x'), take);
  splitter.Add("\n\nab\rcd\n", take);
  splitter.Add("e", take);
  splitter.End(take);
  EXPECT_THAT(parts, ElementsAre(Format("1:{}", cut), "1:10", "3:2", "3:2", "4:1"));
  EXPECT_EQ(splitter.lines(), 4U);
}

}  // namespace
}  // namespace fabric::explain
