#include "daemon/facts/flatten.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/text.h"
#include "daemon/facts/field_kinds.h"

namespace fabric::facts {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// An element with more facts than this has a line for itself.
constexpr std::size_t kFewFacts = 4;

// Boots of one image differ in these.
constexpr std::string_view kBootIdentity[] = {"root", "resume",   "BOOT_IMAGE",   "initrd",
                                              "ip",   "hostname", "rd.luks.uuid", "rd.lvm.lv"};

class Flattener {
 public:
  explicit Flattener(bool counters) : counters_(counters) {}

  // All of a message, its path being `path_`.
  void AddMessage(const Message& message) {
    const Descriptor& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) AddField(message, *type.field(i));
  }

  void AddField(const Message& message, const FieldDescriptor& field) {
    const FieldKind kind = KindOf(field);
    if (kind == FieldKind::kLeftOut) return;
    const bool counter = kind == FieldKind::kCounter;
    const bool scalar = field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
    // Counters stand among settings, and the other way round.
    if (scalar && counter != counters_) return;
    if (!scalar && counter) return;  // Lists of counters have a form of their own.
    const Reflection& reflection = *message.GetReflection();
    const std::size_t length = path_.size();
    if (field.is_repeated()) {
      Append(field.name());
      scalar ? AddScalars(message, field) : AddElements(message, field);
    } else if (!scalar) {
      if (!reflection.HasField(message, &field)) return;
      Append(field.name());
      AddMessage(reflection.GetMessage(message, &field));
    } else if (!field.has_presence() || reflection.HasField(message, &field)) {
      AddScalar(message, field);
    }
    path_.resize(length);
  }

  // One element of a list whose name is at the end of the path already.
  void AddElement(const Message& element, std::string key) {
    const std::size_t length = path_.size();
    const std::size_t before = facts_.size();
    path_ += "[" + key + "]";
    const std::string own = path_;
    const Descriptor& type = *element.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i)
      if (!IsKey(*type.field(i))) AddField(element, *type.field(i));
    path_.resize(length);
    if (facts_.size() > before + kFewFacts && !counters_)
      facts_.push_back({.path = own, .value = std::string(kThere)});
  }

  void AddElements(const Message& message, const FieldDescriptor& field,
                   const std::set<std::string>* only = nullptr) {
    const Reflection& reflection = *message.GetReflection();
    std::set<std::string> keys;
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      const Message& element = reflection.GetRepeatedMessage(message, &field, i);
      std::string key = KeyOf(element);
      if (key.empty()) key = Format("{}", i);
      if (only != nullptr && !only->contains(key)) continue;
      // Brackets would end the name.
      std::replace(key.begin(), key.end(), ']', ')');
      std::replace(key.begin(), key.end(), '[', '(');
      const std::string first = key;
      for (int again = 2; !keys.insert(key).second; ++again) key = Format("{} #{}", first, again);
      AddElement(element, std::move(key));
    }
  }

  void Put(std::string_view name, std::string value, bool counter) {
    const std::size_t length = path_.size();
    if (!name.empty()) Append(name);
    facts_.push_back({.path = path_, .value = std::move(value), .counter = counter});
    path_.resize(length);
  }

  void Append(std::string_view name) {
    if (!path_.empty()) path_ += '.';
    path_ += name;
  }
  void Go(std::string path) { path_ = std::move(path); }

  Facts Take() {
    std::sort(facts_.begin(), facts_.end(),
              [](const Fact& a, const Fact& b) { return a.path < b.path; });
    return std::move(facts_);
  }

 private:
  void AddScalar(const Message& message, const FieldDescriptor& field) {
    if (field.name() == "kernel_command_line") return AddCommandLine(message, field);
    std::string value = ValueText(message, field, -1);
    // Without presence there is no telling "empty" from "not there".
    if (value.empty() && !field.has_presence()) return;
    // Machines that are alike differ by what their firmware keeps for itself.
    if (field.name() == "memory_bytes") {
      const auto bytes = message.GetReflection()->GetUInt64(message, &field);
      value = Format("{} GiB", (bytes + (std::uint64_t{1} << 29)) >> 30);
    }
    Put(field.name(), std::move(value), counters_);
  }

  // Its words, each by its name.
  void AddCommandLine(const Message& message, const FieldDescriptor& field) {
    const std::string line = message.GetReflection()->GetString(message, &field);
    std::set<std::string> names;
    for (const std::string_view word : Words(line)) {
      const std::size_t equals = word.find('=');
      const std::string first(word.substr(0, equals));
      std::string name = first;
      for (int again = 2; !names.insert(name).second; ++again)
        name = Format("{} #{}", first, again);
      const std::string_view value =
          equals == std::string_view::npos ? kThere : word.substr(equals + 1);
      Put(Format("{}[{}]", field.name(), name), std::string(value), false);
    }
  }

  // Texts are sets: one line. Numbers stand for something by their index, but P_Keys.
  void AddScalars(const Message& message, const FieldDescriptor& field) {
    const int size = message.GetReflection()->FieldSize(message, &field);
    if (size == 0) return;
    const bool set = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING || field.name() == "pkeys";
    std::vector<std::string> values;
    for (int i = 0; i < size; ++i) values.push_back(ValueText(message, field, i));
    if (set) {
      std::sort(values.begin(), values.end());
      return Put("", Join(values, ", "), counters_);
    }
    const std::size_t length = path_.size();
    for (int i = 0; i < size; ++i) {
      path_ += Format("[{}]", i);
      Put("", std::move(values[static_cast<std::size_t>(i)]), counters_);
      path_.resize(length);
    }
  }

  const bool counters_;
  std::string path_;
  Facts facts_;
};

const FieldDescriptor& FieldOf(int number) {
  return *v1::NodeSnapshot::descriptor()->FindFieldByNumber(number);
}

// "mlx5 0000:17:00.0: health: N of N": lines of the kernel's log without what changes in them.
std::string WithoutNumbers(const std::string& text) {
  constexpr std::size_t kShown = 80;
  std::string plain;
  for (const char c : text) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (digit && !plain.empty() && plain.back() == 'N') continue;
    plain += digit ? 'N' : c == '[' ? '(' : c == ']' ? ')' : c;
  }
  return plain.substr(0, kShown);
}

}  // namespace

Facts Flatten(const v1::NodeSnapshot& snapshot) {
  Flattener flattener(false);
  flattener.AddMessage(snapshot);
  return flattener.Take();
}

Facts Flatten(const v1::NodeSnapshot& snapshot, const v1::SnapshotChange& touched) {
  Flattener flattener(false);
  const auto add_list = [&](int number, const auto& changed, const auto& removed) {
    std::set<std::string> names(removed.begin(), removed.end());
    for (const auto& element : changed) names.insert(element.name());
    if (names.empty()) return;
    flattener.Go(FieldOf(number).name());
    flattener.AddElements(snapshot, FieldOf(number), &names);
    flattener.Go("");
  };
  add_list(v1::NodeSnapshot::kRdmaDevicesFieldNumber, touched.rdma_devices(),
           touched.removed_rdma_devices());
  add_list(v1::NodeSnapshot::kNetInterfacesFieldNumber, touched.net_interfaces(),
           touched.removed_net_interfaces());
  for (const std::string& name : touched.fields()) {
    const FieldDescriptor* const field = v1::NodeSnapshot::descriptor()->FindFieldByName(name);
    if (field != nullptr) flattener.AddField(snapshot, *field);
  }
  return flattener.Take();
}

Facts FlattenCounters(const v1::NodeSnapshot& snapshot) {
  Flattener flattener(true);
  flattener.AddMessage(snapshot);
  for (const v1::CounterSet& set : snapshot.counters()) {
    flattener.Go(set.device().empty() ? Format("counters[{}]", set.netdev())
                                      : Format("counters[{}/{}]", set.device(), set.port()));
    for (const v1::Counter& counter : set.counters())
      flattener.Put(counter.name(), Format("{}", counter.value()), true);
  }
  flattener.Go("");
  for (const v1::KernelLogLine& line : snapshot.kernel_log())
    flattener.Put(Format("kernel_log[{}: {}]", line.category(), WithoutNumbers(line.text())),
                  Format("{}", line.count()), true);
  Facts facts = flattener.Take();
  // A counter that two sources give, and kernel lines that differ in numbers alone.
  const auto same = [](const Fact& a, const Fact& b) { return a.path == b.path; };
  facts.erase(std::unique(facts.begin(), facts.end(), same), facts.end());
  return facts;
}

bool IsIdentity(std::string_view path) {
  const Descriptor* type = v1::NodeSnapshot::descriptor();
  while (type != nullptr && !path.empty()) {
    const std::size_t end = path.find_first_of(".[");
    const FieldDescriptor* const field = type->FindFieldByName(std::string(path.substr(0, end)));
    if (field == nullptr) return false;
    if (KindOf(*field) == FieldKind::kIdentity) return true;
    path.remove_prefix(std::min(end, path.size()));
    if (path.starts_with("[")) {
      const std::size_t close = path.find(']');
      if (close == std::string_view::npos) return false;
      if (field->name() == "kernel_command_line") {
        const std::string_view word = path.substr(1, close - 1);
        return std::find(std::begin(kBootIdentity), std::end(kBootIdentity), word) !=
               std::end(kBootIdentity);
      }
      path.remove_prefix(close + 1);
    }
    if (path.starts_with(".")) path.remove_prefix(1);
    type = field->message_type();
  }
  return false;
}

}  // namespace fabric::facts
