#include "daemon/snapshot_diff/flattener.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "proto/fields.h"

namespace fabric::snapshot_diff {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Elements with more values than this have an entry of their own.
constexpr std::size_t kFewValues = 4;

}  // namespace

void Flattener::AddMessage(const Message& message) {
  for (const Field& field : FieldsOf(*message.GetDescriptor())) AddField(message, field);
}

void Flattener::AddField(const Message& message, const Field& each) {
  const FieldDescriptor& field = *each.descriptor;
  if (each.comparison == v1::COMPARISON_OMITTED) return;
  const bool counter = each.comparison == v1::COMPARISON_COUNTER;
  const bool scalar = field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
  // Counters are mixed with settings, and counter lists have their own format.
  if (scalar ? counter != counters_ : counter) return;
  const Reflection& reflection = *message.GetReflection();
  const std::size_t length = path_.size();
  if (field.is_repeated()) {
    Append(field.name());
    scalar ? AddScalars(message, field) : AddElements(message, field);
  } else if (!scalar) {
    if (!reflection.HasField(message, &field)) return;
    Append(field.name());
    AddMessage(reflection.GetMessage(message, &field));
  } else if (HasValue(message, field)) {
    AddScalar(message, field);
  }
  path_.resize(length);
}

void Flattener::AddElement(const Message& element, const std::string& key) {
  const std::size_t length = path_.size();
  const std::size_t before = values_.size();
  path_ += '[';
  path_ += key;
  path_ += ']';
  for (const Field& field : FieldsOf(*element.GetDescriptor()))
    if (!field.key) AddField(element, field);
  if (values_.size() > before + kFewValues && !counters_) Put("", std::string(kThere));
  path_.resize(length);
}

void Flattener::AddElements(const Message& message, const FieldDescriptor& field) {
  const std::vector<std::string> keys = KeysOf(message, field);
  for (std::size_t i = 0; i < keys.size(); ++i)
    AddElement(message.GetReflection()->GetRepeatedMessage(message, &field, static_cast<int>(i)),
               keys[i]);
}

void Flattener::Put(std::string_view name, std::string value) {
  const std::size_t length = path_.size();
  if (!name.empty()) Append(name);
  values_.push_back({.path = path_, .value = std::move(value), .counter = counters_});
  path_.resize(length);
}

FieldValues Flattener::Take() {
  std::sort(values_.begin(), values_.end(),
            [](const FieldValue& a, const FieldValue& b) { return a.path < b.path; });
  return std::move(values_);
}

void Flattener::Append(std::string_view name) {
  if (!path_.empty()) path_ += '.';
  path_ += name;
}

void Flattener::AddScalar(const Message& message, const FieldDescriptor& field) {
  if (field.name() == "kernel_command_line") return AddCommandLine(message, field);
  std::string value = ValueText(message, field, -1);
  // A field without presence cannot be distinguished from an absent one.
  if (value.empty() && !field.has_presence()) return;
  // Firmware reserves different amounts on equal machines.
  if (field.name() == "memory_bytes") {
    const auto bytes = message.GetReflection()->GetUInt64(message, &field);
    value = Format("{} GiB", (bytes + (std::uint64_t{1} << 29)) >> 30);
  }
  Put(field.name(), std::move(value));
}

// One entry for each word, by its name.
void Flattener::AddCommandLine(const Message& message, const FieldDescriptor& field) {
  const std::string line = message.GetReflection()->GetString(message, &field);
  std::set<std::string> names;
  for (const std::string_view word : Words(line)) {
    const std::size_t equals = word.find('=');
    const std::string first(word.substr(0, equals));
    std::string name = first;
    for (int again = 2; !names.insert(name).second; ++again) name = Format("{} #{}", first, again);
    const std::string_view value =
        equals == std::string_view::npos ? kThere : word.substr(equals + 1);
    Put(Format("{}[{}]", field.name(), name), std::string(value));
  }
}

// A list of texts is a set: one entry. Numbers are identified by index, except P_Keys.
void Flattener::AddScalars(const Message& message, const FieldDescriptor& field) {
  const int size = message.GetReflection()->FieldSize(message, &field);
  if (size == 0) return;
  const bool set = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING || field.name() == "pkeys";
  std::vector<std::string> values;
  for (int i = 0; i < size; ++i) values.push_back(ValueText(message, field, i));
  if (set) {
    std::sort(values.begin(), values.end());
    return Put("", Join(values, ", "));
  }
  const std::size_t length = path_.size();
  for (int i = 0; i < size; ++i) {
    path_ += Format("[{}]", i);
    Put("", std::move(values[static_cast<std::size_t>(i)]));
    path_.resize(length);
  }
}

std::vector<std::string> KeysOf(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<std::string> keys;
  std::set<std::string> known;
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    std::string key = KeyOf(reflection.GetRepeatedMessage(message, &field, i));
    if (key.empty()) key = Format("{}", i);
    // Brackets would end the key.
    std::replace(key.begin(), key.end(), ']', ')');
    std::replace(key.begin(), key.end(), '[', '(');
    const std::string first = key;
    for (int again = 2; !known.insert(key).second; ++again) key = Format("{} #{}", first, again);
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace fabric::snapshot_diff
