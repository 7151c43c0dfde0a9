// PyTorch and launchers: causes of a job's end, and consequences of RDMA failures. Source:
// torch/csrc/distributed/c10d/ProcessGroupNCCL, Slurm, torchrun.
#include "daemon/explain/message.h"

namespace fabric::explain {
namespace {

using enum Cause;

constexpr Message kJobsMessages[] = {
    {.id = "out_of_memory",
     .needle = "CUDA out of memory",
     .pattern = R"(CUDA out of memory)",
     .role = Role::kCause,
     .title = "a GPU has no memory left",
     .meaning = "The rank ends, and its peers see network errors that are none.",
     .causes = {kProgram}},
    {.id = "shared_memory",
     .needle = "/dev/shm",
     .pattern = R"((?:failed to (?:extend|create|open)|No space left on device|unable to (?:)"
                R"(open|write)).*/dev/shm|/dev/shm.*(?:No space left on device|Bus error))",
     .role = Role::kCause,
     .title = "shared memory is too small",
     .meaning =
         "NCCL needs /dev/shm between the ranks of a node. Containers have 64 MiB by default.",
     .causes = {kSharedMemory}},
    {.id = "shared_memory_segment",
     .needle = "shared memory segment",
     .pattern = R"(NCCL WARN Error while (?:creating|attaching to) shared memory segment)",
     .role = Role::kCause,
     .title = "shared memory is too small",
     .meaning =
         "NCCL needs /dev/shm between the ranks of a node. Containers have 64 MiB by default.",
     .causes = {kSharedMemory}},
    {.id = "duplicate_gpu",
     .needle = "Duplicate GPU detected",
     .pattern = R"(NCCL WARN Duplicate GPU detected)",
     .role = Role::kCause,
     .title = "two ranks use one GPU",
     .meaning = "The launcher gave them the same device.",
     .causes = {kProgram}},
    {.id = "illegal_access",
     .needle = "illegal memory access",
     .pattern = R"(illegal memory access was encountered)",
     .role = Role::kFailure,
     .title = "a GPU program accessed memory that does not exist",
     .meaning = "The rank ends, and its peers see network errors that are none.",
     .causes = {kProgram, kGpuFailed}},
    {.id = "oom_kill",
     .needle = "oom",
     .pattern = R"((?i:oom-kill event|oom-kill:|invoked oom-killer|oom_reaper: reaped|)"
                R"(Out of memory: Kill))",
     .role = Role::kCause,
     .title = "the host ran out of memory and killed a process",
     .meaning = "Its peers see network errors that are none.",
     .causes = {kProgram}},
    {.id = "watchdog",
     .needle = "Watchdog caught collective operation timeout",
     .pattern = R"((?:\[Rank (?P<rank>\d+)\] )?Watchdog caught collective operation timeout)",
     .role = Role::kConsequence,
     .title = "a collective did not end in time",
     .meaning = "Some rank did not take part, or its data did not arrive. The rank that reports it "
                "is mostly one that waits.",
     .causes = {kStraggler, kEarlierError, kPeerGone, kPfc}},
    {.id = "watchdog_stuck",
     .needle = "watchdog",
     .pattern = R"(ProcessGroupNCCL's watchdog (?:got stuck|thread terminated))",
     .role = Role::kConsequence,
     .title = "a rank hangs",
     .meaning = "Its own watchdog did not get on.",
     .causes = {kStraggler, kEarlierError}},
    {.id = "operations_timed_out",
     .needle = "Some NCCL operations have failed or timed out",
     .pattern = R"(Some NCCL operations have failed or timed out)",
     .role = Role::kConsequence,
     .title = "PyTorch takes the process down",
     .meaning = "What timed out or failed stands above.",
     .causes = {kEarlierError, kStraggler}},
    {.id = "child_failed",
     .needle = "ChildFailedError",
     .pattern = R"(ChildFailedError)",
     .role = Role::kConsequence,
     .title = "torchrun: a rank has ended",
     .meaning = "Its own log says why.",
     .causes = {kEarlierError}},
    {.id = "srun_exit",
     .needle = "srun: error:",
     .pattern =
         R"(srun: error: (?P<peer>\S+?): tasks? [\d,-]+: (?:Exited|Killed|Aborted|Terminated))",
     .role = Role::kConsequence,
     .title = "Slurm: tasks of a node have ended",
     .meaning = "What they said themselves comes first.",
     .causes = {kEarlierError}},
};

}  // namespace

extern const MessageTable jobs = {.library = "job", .messages = kJobsMessages};

}  // namespace fabric::explain
