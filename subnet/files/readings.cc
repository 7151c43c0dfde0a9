#include "subnet/files/readings.h"

#include <time.h>

#include <set>
#include <utility>

#include "base/text.h"

namespace fabric::subnet {
namespace {

// A reading alone.
struct ReadAlone {
  Subnet subnet;
  std::string made_on;
};

ReadAlone ReadOne(const FileFormat& format, const std::string& file, std::string_view text) {
  Builder builder;
  format.read(file, text, builder);
  ReadAlone read{.subnet = builder.Finish(), .made_on = {}};
  if (!read.subnet.sources().empty()) read.made_on = read.subnet.sources().front().made_on;
  return read;
}

std::set<std::uint64_t> ListedGuids(const Subnet& subnet, bool switches) {
  std::set<std::uint64_t> guids;
  for (const Node& node : subnet.nodes())
    if (node.listed && (node.type == NodeType::kSwitch || !switches)) guids.insert(node.guid);
  return guids;
}

// Both list a switch. The ports of an adapter can be in two subnets.
bool AreOfOneSubnet(const Subnet& a, const Subnet& b) {
  std::set<std::uint64_t> guids = ListedGuids(a, true);
  std::set<std::uint64_t> others = ListedGuids(b, true);
  if (guids.empty() || others.empty()) {
    guids = ListedGuids(a, false);
    others = ListedGuids(b, false);
  }
  return std::ranges::any_of(guids, [&](std::uint64_t guid) { return others.contains(guid); });
}

// The far end of a port, by GUID; 0: none.
std::pair<std::uint64_t, std::uint32_t> FarEnd(const Subnet& subnet, const Node& node,
                                               std::uint32_t port) {
  if (port >= node.ports.size() || node.ports[port].peer == kNoNode) return {0, 0};
  return {subnet.node(node.ports[port].peer).guid, node.ports[port].peer_port};
}

// Whether a device that both list has another cable. A file that is cut can lack cables.
bool HaveOtherCables(const Subnet& a, const Subnet& b) {
  for (const Node& node : a.nodes()) {
    const std::uint32_t index = node.listed ? b.FindGuid(node.guid) : kNoNode;
    if (index == kNoNode || !b.node(index).listed) continue;
    const Node& other = b.node(index);
    const bool can_lack = node.can_lack_cables || other.can_lack_cables;
    for (std::uint32_t port = 1; port < std::max(node.ports.size(), other.ports.size()); ++port) {
      const auto far = FarEnd(a, node, port);
      const auto other_far = FarEnd(b, other, port);
      if (far != other_far && !(can_lack && (far.first == 0 || other_far.first == 0))) return true;
    }
  }
  return false;
}

std::optional<time_t> TimeOf(const std::string& made_on) {
  for (const char* const form : {"%a %b %d %H:%M:%S %Y", "%Y-%m-%dT%H:%M:%S"}) {
    tm fields{};
    if (strptime(made_on.c_str(), form, &fields) != nullptr) return timegm(&fields);
  }
  return std::nullopt;
}

// Whether the date of the first reading is after that of the second one. Readings in different
// formats can have the times of different zones.
bool IsLater(const ReadAlone& first, const ReadAlone& second) {
  const auto one = TimeOf(first.made_on);
  const auto other = TimeOf(second.made_on);
  return one && other && *one > *other;
}

bool IsOfTables(const FileFormat& format) {
  return &format == &kDumpLftsFormat || &format == &kFdbsFormat;
}

}  // namespace

struct Readings::Dropped {
  bool by_date = false;  // Although it is the last one
  bool other_cables = false;
};

void Readings::Add(const FileFormat& format, Place place, std::string text, Builder& builder) {
  if (format.lists_cables) {
    readings_.push_back({&format, std::move(place), std::move(text)});
    return;
  }
  format.read(place.file, text, builder);
  if (IsOfTables(format)) last_tables_ = std::move(place);
}

void Readings::Drop(Reading& dropped, const Reading& used, const Dropped& how, Builder& builder) {
  dropped.used = false;
  const std::string where = Format("{}:{}", used.place.file, used.place.line);
  builder.AddProblem(
      {dropped.place.file, dropped.place.line,
       Format("expected one reading of the cables of a subnet, saw another one in {} ({}): used "
              "that one, because it is {}",
              where, used.format->name, how.by_date ? "later by its date" : "the last one")});
  const bool below =
      last_tables_ && last_tables_->file == used.place.file && last_tables_->line > used.place.line;
  if (how.other_cables && !below)
    builder.SetTableDoubt(
        {.reason = Format("expected tables of the time of {}, saw readings with other cables: no "
                          "tables are used, because they can be older; leave out the files of "
                          "other times",
                          where),
         .of_several = how.by_date});
}

void Readings::ReadLast(Builder& builder) {
  std::vector<ReadAlone> alone;
  if (readings_.size() > 1)
    for (const Reading& each : readings_)
      alone.push_back(ReadOne(*each.format, each.place.file, each.text));
  for (std::size_t last = 1; last < alone.size(); ++last)
    for (std::size_t i = 0; i < last && readings_[last].used; ++i) {
      if (!readings_[i].used || !AreOfOneSubnet(alone[i].subnet, alone[last].subnet)) continue;
      const bool same_format = readings_[i].format == readings_[last].format;
      const Dropped how{.by_date = same_format && IsLater(alone[i], alone[last]),
                        .other_cables = HaveOtherCables(alone[i].subnet, alone[last].subnet)};
      // Those of two tools with the same cables complete each other.
      if (!same_format && !how.other_cables) continue;
      if (how.by_date)
        Drop(readings_[last], readings_[i], how, builder);
      else
        Drop(readings_[i], readings_[last], how, builder);
    }
  for (const Reading& each : readings_)
    if (each.used) each.format->read(each.place.file, each.text, builder);
  readings_.clear();
}

}  // namespace fabric::subnet
