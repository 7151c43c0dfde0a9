// Faults injected into each field of snapshots: a wrong value, no value, a value that could not be
// read. Each changes a finding or gives an UNKNOWN, or is a row of informational.tsv with the
// reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/text.h"
#include "proto/json.h"
#include "tests/testing/paths.h"
#include "tests/unit/rules/complete_nodes.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Snapshots = std::vector<v1::NodeSnapshot>;

enum class How : std::uint8_t { kWrong, kRemoved, kUnreadable };
constexpr const char* kHows[] = {"wrong", "removed", "unreadable"};

// One value in a snapshot: the steps from the snapshot to it.
struct Step {
  const FieldDescriptor* field = nullptr;
  int index = -1;  // Of a repeated field; -1: the field as a whole
};
using FieldPlace = std::vector<Step>;

std::string PathOf(const FieldPlace& place) {
  std::string path;
  for (const Step& step : place)
    path += (path.empty() ? "" : ".") + std::string(step.field->name());
  return path;
}

constexpr int kElementsMax = 3;  // Of each repeated field

// Not values of the machine: gaps, the time, counters, which counters_test covers.
bool IsLeftOut(const FieldDescriptor& field) {
  const std::string name(field.name());
  return field.containing_type() == v1::NodeSnapshot::descriptor() &&
         (name == "gaps" || name == "taken_at" || name == "counters" || name == "captured");
}

bool IsMessage(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

void Collect(const Message& message, const FieldPlace& at, std::vector<FieldPlace>& out) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    if (IsLeftOut(*field)) continue;
    FieldPlace place = at;
    place.push_back({.field = field});
    out.push_back(place);
    if (!IsMessage(*field)) continue;
    const auto& reflection = *message.GetReflection();
    if (!field->is_repeated()) {
      Collect(reflection.GetMessage(message, field), place, out);
      continue;
    }
    const int size = std::min(kElementsMax, reflection.FieldSize(message, field));
    for (int i = 0; i < size; ++i) {
      place.back().index = i;
      Collect(reflection.GetRepeatedMessage(message, field, i), place, out);
    }
  }
}

// The message that has the last field of the place.
Message& HolderOf(v1::NodeSnapshot& snapshot, const FieldPlace& place) {
  Message* message = &snapshot;
  for (std::size_t i = 0; i + 1 < place.size(); ++i) {
    const auto& reflection = *message->GetReflection();
    message = place[i].index >= 0
                  ? reflection.MutableRepeatedMessage(message, place[i].field, place[i].index)
                  : reflection.MutableMessage(message, place[i].field);
  }
  return *message;
}

void RemoveField(v1::NodeSnapshot& snapshot, const FieldPlace& place) {
  Message& holder = HolderOf(snapshot, place);
  holder.GetReflection()->ClearField(&holder, place.back().field);
}

// Numbers that differ from `value` in ways that matter.
std::vector<std::int64_t> OtherNumbers(std::int64_t value) {
  std::vector<std::int64_t> others;
  for (const std::int64_t other :
       {std::int64_t{0}, std::int64_t{1}, value + 1, value / 2, value * 2, std::int64_t{70'000}})
    if (other != value) others.push_back(other);
  return others;
}

using Mutation = std::function<void(v1::NodeSnapshot&)>;

template <class Set>
void AddMutation(const FieldPlace& place, std::vector<Mutation>& changes, Set set) {
  changes.push_back([place, set](v1::NodeSnapshot& snapshot) {
    Message& holder = HolderOf(snapshot, place);
    set(*holder.GetReflection(), holder, *place.back().field);
  });
}

void AddNumbers(const FieldPlace& place, const Message& holder, std::vector<Mutation>& changes) {
  const FieldDescriptor& field = *place.back().field;
  const auto& is = *holder.GetReflection();
  using Reflection = google::protobuf::Reflection;
  const auto add = [&](std::int64_t now, auto set) {
    for (const std::int64_t other : OtherNumbers(now))
      AddMutation(place, changes,
                  [set, other](const Reflection& reflection, Message& message,
                               const FieldDescriptor& f) { set(reflection, message, f, other); });
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return add(is.GetInt32(holder, &field), [](auto& r, auto& m, auto& f, std::int64_t v) {
        r.SetInt32(&m, &f, static_cast<std::int32_t>(v));
      });
    case FieldDescriptor::CPPTYPE_INT64:
      return add(is.GetInt64(holder, &field),
                 [](auto& r, auto& m, auto& f, std::int64_t v) { r.SetInt64(&m, &f, v); });
    case FieldDescriptor::CPPTYPE_UINT32:
      return add(is.GetUInt32(holder, &field), [](auto& r, auto& m, auto& f, std::int64_t v) {
        r.SetUInt32(&m, &f, static_cast<std::uint32_t>(v));
      });
    case FieldDescriptor::CPPTYPE_UINT64:
      return add(static_cast<std::int64_t>(is.GetUInt64(holder, &field)),
                 [](auto& r, auto& m, auto& f, std::int64_t v) {
                   r.SetUInt64(&m, &f, static_cast<std::uint64_t>(v));
                 });
    case FieldDescriptor::CPPTYPE_ENUM:
      return add(is.GetEnumValue(holder, &field), [](auto& r, auto& m, auto& f, std::int64_t v) {
        r.SetEnumValue(&m, &f, static_cast<int>(v % 8));
      });
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return add(1, [](auto& r, auto& m, auto& f, std::int64_t v) {
        r.SetDouble(&m, &f, static_cast<double>(v));
      });
    default: return;
  }
}

// Values that the field may have instead. A repeated field loses its first value, or all.
std::vector<Mutation> WrongValues(const v1::NodeSnapshot& snapshot, const FieldPlace& place) {
  v1::NodeSnapshot copy = snapshot;
  const Message& holder = HolderOf(copy, place);
  const FieldDescriptor& field = *place.back().field;
  std::vector<Mutation> changes;
  if (field.is_repeated()) {
    AddMutation(place, changes, [](const auto& reflection, Message& message, const auto& f) {
      reflection.SwapElements(&message, &f, 0, reflection.FieldSize(message, &f) - 1);
      reflection.RemoveLast(&message, &f);
    });
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    AddMutation(place, changes, [](const auto& reflection, Message& message, const auto& f) {
      reflection.SetBool(&message, &f, !reflection.GetBool(message, &f));
    });
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    for (const std::string text : {"wrong", "0000:00:1f.0", "0000:0000:0000:0000", "10.10.99.1/24"})
      AddMutation(place, changes, [text](const auto& reflection, Message& message, const auto& f) {
        reflection.SetString(&message, &f, text);
      });
  } else {
    AddNumbers(place, holder, changes);
  }
  return changes;
}

// Verdicts of all rules but drivers_answer, which judges gaps. Without the checks of Judge(): a
// remedy cannot name what the fault removed, such as the node.
std::set<std::string> VerdictsOn(const Snapshots& nodes, const profile::Profile& profile) {
  std::vector<fleet::NodeRecord> records;
  for (const v1::NodeSnapshot& node : nodes)
    records.push_back({.name = node.node().name(), .snapshot = node});
  fleet::AssignRails(records, profile);
  std::set<std::string> verdicts;
  for (const v1::Finding& finding : Evaluate(fleet::FleetView(records, profile)).findings)
    if (finding.rule() != "drivers_answer")
      verdicts.insert(
          Format("{} {} {}", finding.id(), static_cast<int>(finding.verdict()), finding.title()));
  return verdicts;
}

v1::Gap Unread(const std::string& inspector) {
  v1::Gap gap;
  gap.set_inspector(inspector);
  gap.set_code(v1::GAP_CODE_PERMISSION_DENIED);
  gap.set_reason("Permission denied");
  return gap;
}

// One fleet, and what was found out about its fields.
class Injection {
 public:
  Injection(Snapshots nodes, profile::Profile profile)
      : nodes_(std::move(nodes)),
        profile_(std::move(profile)),
        healthy_(VerdictsOn(nodes_, profile_)) {}

  // "rdma_devices.ports.lid" to the ways in which a fault was noticed there.
  void Run(std::map<std::string, std::set<How>>& noticed) {
    std::vector<FieldPlace> places;
    Collect(nodes_[0], {}, places);
    for (const FieldPlace& place : places) {
      std::set<How>& of_path = noticed[PathOf(place)];
      for (const How how : {How::kWrong, How::kRemoved, How::kUnreadable})
        if (!of_path.contains(how) && IsNoticed(place, how)) of_path.insert(how);
    }
  }

 private:
  bool IsNoticed(const FieldPlace& place, How how) {
    if (how == How::kUnreadable) return IsNoticedUnreadable(place);
    std::vector<Mutation> changes;
    if (how == How::kWrong)
      changes = WrongValues(nodes_[0], place);
    else
      changes.push_back([&](v1::NodeSnapshot& snapshot) { RemoveField(snapshot, place); });
    return std::ranges::any_of(changes,
                               [&](const Mutation& change) { return After(change) != healthy_; });
  }

  bool IsNoticedUnreadable(const FieldPlace& place) {
    for (const std::string& inspector : InspectorsOf(std::string(place[0].field->name()))) {
      const v1::Gap gap = Unread(inspector);
      auto known = with_gap_.find(inspector);
      if (known == with_gap_.end())
        known =
            with_gap_.emplace(inspector, After([&](auto& node) { *node.add_gaps() = gap; })).first;
      const auto changed = After([&](v1::NodeSnapshot& node) {
        RemoveField(node, place);
        *node.add_gaps() = gap;
      });
      if (changed != known->second) return true;
    }
    return false;
  }

  std::set<std::string> After(const Mutation& change) {
    Snapshots changed = nodes_;
    change(changed[0]);
    return VerdictsOn(changed, profile_);
  }

  const Snapshots nodes_;
  const profile::Profile profile_;
  const std::set<std::string> healthy_;
  std::map<std::string, std::set<std::string>> with_gap_;
};

struct InformationalRow {
  std::set<std::string> hows;
  std::string reason;
};

std::map<std::string, InformationalRow> ReadTable() {
  std::ifstream file(Format("{}/tests/unit/rules/informational.tsv", testing::kSourceDir));
  std::map<std::string, InformationalRow> table;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    const auto cells = Split(line, '\t');
    if (cells.size() != 3) {
      ADD_FAILURE() << "informational.tsv: expected 3 cells: " << line;
      continue;
    }
    InformationalRow& row = table[std::string(cells[0])];
    for (const std::string_view how : Split(cells[1], ',')) row.hows.emplace(how);
    row.reason = cells[2];
    EXPECT_FALSE(row.reason.empty()) << line;
  }
  return table;
}

TEST(FaultInjection, EveryFieldIsJudgedOrInformational) {
  std::map<std::string, std::set<How>> noticed;
  for (CompleteFleet& fleet : CompleteFleets())
    Injection(std::move(fleet.nodes), Expecting(fleet.expectations)).Run(noticed);
  const auto table = ReadTable();
  std::string missing;
  for (const auto& [path, hows] : noticed) {
    std::string unnoticed;
    for (const How how : {How::kWrong, How::kRemoved, How::kUnreadable}) {
      const std::string name = kHows[static_cast<std::size_t>(how)];
      const auto row = table.find(path);
      const bool listed = row != table.end() && row->second.hows.contains(name);
      if (!hows.contains(how) && !listed) unnoticed += (unnoticed.empty() ? "" : ",") + name;
    }
    if (!unnoticed.empty()) missing += Format("{}\t{}\treason\n", path, unnoticed);
  }
  EXPECT_EQ(missing, "") << "no rule notices these faults: add a rule, or the reason to "
                            "tests/unit/rules/informational.tsv";
  for (const auto& [path, row] : table)
    EXPECT_TRUE(noticed.contains(path)) << path << ": expected a field of a complete fleet";
}

}  // namespace
}  // namespace fabric::rules
