#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/snapshots.h"
#include "ctl/tables/cells.h"
#include "daemon/snapshot_diff/difference.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

// Maximum number of counters without --all.
constexpr std::size_t kCountersMax = 40;

constexpr Option kDiffOptions[] = {
    {.name = "NODE",
     .value = "NODE|FILE",
     .doc = "One node with --since, two nodes, or two snapshot files.",
     .required = true,
     .repeated = true},
    {.name = "since",
     .type = OptionType::kDuration,
     .min = "1s",
     .max = "365d",
     .doc = "Show the changes of the node in this period. Default: compare two nodes or files."},
    {.name = "all",
     .type = OptionType::kBool,
     .doc = "Also show identities (names, addresses, GUIDs) and every counter."},
};

// The result of a comparison and the names of its two sides.
struct Comparison {
  v1::DiffNodeResponse response;
  std::string left, right;
  bool same_node = false;
  bool with_times = false;
};

bool IsFile(const std::string& word) {
  return word == "-" || word.ends_with(".json") || word.find('/') != std::string::npos;
}

Result<Comparison> CompareFiles(const std::vector<std::string>& files) {
  Comparison comparison{.left = files[0], .right = files[1]};
  std::vector<v1::NodeSnapshot> snapshots;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::vector<fleet::NodeRecord> records, ReadSnapshots({file}));
    snapshots.push_back(records[0].snapshot);
  }
  comparison.same_node = snapshots[0].node().name() == snapshots[1].node().name();
  comparison.response = snapshot_diff::Diff(snapshots[0], snapshots[1]);
  return comparison;
}

Result<Comparison> CompareNodes(Client& client, const std::string& node, const std::string& other) {
  v1::DiffNodeRequest request;
  request.set_name(node);
  request.set_other(other);
  Comparison comparison{.left = node, .right = other};
  ASSIGN_OR_RETURN(comparison.response, client.Call<v1::DiffNodeResponse>(request));
  return comparison;
}

Result<Comparison> CompareWithThen(Client& client, const std::string& node, Duration since) {
  v1::DiffNodeRequest request;
  request.set_name(node);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(since).count();
  request.set_since_seconds(static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(seconds, 1, std::numeric_limits<std::uint32_t>::max())));
  Comparison comparison{.left = "THEN", .right = "NOW", .same_node = true, .with_times = true};
  ASSIGN_OR_RETURN(comparison.response, client.Call<v1::DiffNodeResponse>(request));
  return comparison;
}

Result<Comparison> Compare(Client& client, const Arguments& arguments) {
  const std::vector<std::string> words = arguments.All("NODE");
  const bool since = arguments.Has("since");
  if (words.size() != (since ? 1U : 2U))
    return Status(Code::kInvalidArgument,
                  words.size() == 1 ? Format("expected --since DURATION or a second node or file, "
                                             "saw only {}",
                                             Quoted(words[0]))
                                    : Format("expected one node with --since, or two nodes or "
                                             "files, saw {}{}",
                                             words.size(), since ? " with --since" : ""));
  if (since) return CompareWithThen(client, words[0], arguments.Duration("since"));
  const bool files[] = {IsFile(words[0]), IsFile(words[1])};
  if (files[0] != files[1])
    return Status(Code::kInvalidArgument,
                  "expected two nodes, or two files: save a node with `fabricctl node NAME -o "
                  "json > NAME.json`");
  return files[0] ? CompareFiles(words) : CompareNodes(client, words[0], words[1]);
}

std::string Side(const std::string& value, bool absent) {
  return absent ? std::string(kAbsent) : value.empty() ? "\"\"" : value;
}

bool IsZero(const std::string& value, bool absent) {
  return absent || value == "0";
}

// Counters of two nodes always differ; the ones that are zero on one side only are relevant.
bool IsRelevant(const v1::FieldDifference& counter) {
  return IsZero(counter.before(), counter.before_absent()) !=
         IsZero(counter.after(), counter.after_absent());
}

// Nothing was counted, before and after: a counter that is new, or is not there any more.
bool IsIdle(const v1::FieldDifference& counter) {
  return IsZero(counter.before(), counter.before_absent()) &&
         IsZero(counter.after(), counter.after_absent());
}

// Moves the counters of one node that were zero, or are zero now, to the front.
void PutRelevantFirst(google::protobuf::RepeatedPtrField<v1::FieldDifference>& differences) {
  std::stable_partition(
      differences.begin(), differences.end(),
      [](const v1::FieldDifference& each) { return !each.counter() || IsRelevant(each); });
}

struct Hidden {
  std::size_t identities = 0;
  std::size_t counters = 0;
};

Table TableOf(const Comparison& comparison, bool all, Hidden& hidden) {
  Table table{.columns = {{.title = "WHAT", .elastic = true},
                          {.title = Cell(comparison.left), .elastic = true},
                          {.title = Cell(comparison.right), .elastic = true}},
              .empty_note = "No difference."};
  if (comparison.with_times) table.columns.push_back({.title = "CHANGED"});
  std::size_t counters = 0;
  for (const v1::FieldDifference& difference : comparison.response.differences()) {
    if (!all && difference.counter()) {
      const bool shown = comparison.same_node ? !IsIdle(difference) : IsRelevant(difference);
      if (!shown || ++counters > kCountersMax) {
        ++hidden.counters;
        continue;
      }
    }
    if (!all && !comparison.same_node && snapshot_diff::IsIdentity(difference.path())) {
      ++hidden.identities;
      continue;
    }
    table.rows.push_back({Cell(difference.path()),
                          Side(difference.before(), difference.before_absent()),
                          Side(difference.after(), difference.after_absent())});
    if (comparison.with_times)
      table.rows.back().push_back(difference.has_changed_at() ? ToString(difference.changed_at())
                                                              : std::string(kAbsent));
  }
  return table;
}

Result<Output> RunDiff(Client& client, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(Comparison comparison, Compare(client, arguments));
  Output output;
  Hidden hidden;
  if (comparison.same_node) PutRelevantFirst(*comparison.response.mutable_differences());
  output.tables.push_back(TableOf(comparison, arguments.Bool("all"), hidden));
  if (comparison.with_times)
    output.before = Format("since {}; counters {}\n", ToString(comparison.response.since()),
                           comparison.response.has_counters_since()
                               ? Format("since {}", ToString(comparison.response.counters_since()))
                               : "not kept for this period");
  if (hidden.identities > 0)
    output.after += Format("{} of names, addresses and GUIDs not shown; use --all\n",
                           Plural(hidden.identities, "difference"));
  if (hidden.counters > 0)
    output.after += Format("{} not shown; use --all\n", Plural(hidden.counters, "counter"));
  for (const v1::FieldDifference& difference : comparison.response.differences())
    output.names.push_back(difference.path());
  output.message = std::make_unique<v1::DiffNodeResponse>(std::move(comparison.response));
  return output;
}

}  // namespace

extern const Command diff = {
    .path = "diff",
    .summary = "List the changes of a node, or the differences between two nodes.",
    .description =
        "With --since, shows the changes since then; the first line shows how far back the history "
        "goes. Counters are stored hourly for one day and compared with the last value before that "
        "time. With two nodes, or with two snapshot files and no controller, shows the "
        "differences: settings first, then counters. Without --all, the output omits names, "
        "addresses and GUIDs, and counters that are not zero on both sides. A name in brackets "
        "identifies the port, interface or function; 'there' marks an object that the other "
        "side does not have.",
    .example =
        "fabricctl diff node-3 --since 2h\n"
        "fabricctl diff node-3 node-4",
    .options = kDiffOptions,
    .run = RunDiff,
    .offline = true,
    .watch = true,
};

}  // namespace fabric::ctl
