#include "daemon/infer/readings.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>

#include "base/text.h"
#include "daemon/infer/values.h"
#include "daemon/profile/profile_yaml.h"
#include "daemon/rules/rule.h"
#include "proto/message_yaml.h"

namespace fabric::infer {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using rules::Value;

// All profile values of the field that could mean `value`.
std::vector<v1::Expectations> Candidates(const FieldDescriptor& field, const Value& value) {
  std::vector<v1::Expectations> all;
  const auto* const reflection = v1::Expectations::default_instance().GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      for (const bool on : {false, true}) reflection->SetBool(&all.emplace_back(), &field, on);
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      for (int i = 0; i < field.enum_type()->value_count(); ++i)
        if (field.enum_type()->value(i)->number() != 0)
          reflection->SetEnum(&all.emplace_back(), &field, field.enum_type()->value(i));
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      if (!value.text.empty())
        reflection->SetString(&all.emplace_back(), &field, std::string(value.text));
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      reflection->SetUInt64(&all.emplace_back(), &field, value.number);
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      if (field.is_repeated())
        for (const std::uint32_t pkey : PackedPkeys(value))
          reflection->AddUInt32(all.empty() ? &all.emplace_back() : &all[0], &field, pkey);
      else if (value.number <= 0xffffffffU)
        reflection->SetUInt32(&all.emplace_back(), &field,
                              static_cast<std::uint32_t>(value.number));
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      if (field.message_type() != v1::PriorityList::descriptor()) break;
      auto& list =
          static_cast<v1::PriorityList&>(*reflection->MutableMessage(&all.emplace_back(), &field));
      for (std::uint32_t priority = 0; priority < 8; ++priority)
        if ((value.number >> priority & 1U) != 0) list.add_priorities(priority);
      break;
    }
    default: break;
  }
  return all;
}

const FieldDescriptor* FieldNamed(std::string_view name) {
  return v1::Expectations::descriptor()->FindFieldByName(std::string(name));
}

// Whether the value that the rule expects comes from this field.
bool ComesFrom(const FieldDescriptor& field, const rules::EqualityRule& equality) {
  const auto candidates = Candidates(field, {.number = 1, .text = "x"});
  return std::any_of(candidates.begin(), candidates.end(), [&](const v1::Expectations& expect) {
    return equality.expected(expect).has_value();
  });
}

}  // namespace

std::vector<Reading> Readings() {
  std::vector<Reading> readings(OwnReadings().begin(), OwnReadings().end());
  for (const rules::Rule* rule : rules::AllRules()) {
    for (const rules::EqualityRule& equality : rule->equality_rules) {
      if (equality.expected == nullptr) continue;
      for (const int number : rule->profile) {
        const FieldDescriptor* const field =
            v1::Expectations::descriptor()->FindFieldByNumber(number);
        if (ComesFrom(*field, equality))
          readings.push_back({.field = field->name(), .equality = &equality});
      }
    }
  }
  std::stable_sort(readings.begin(), readings.end(), [](const Reading& a, const Reading& b) {
    return FieldNamed(a.field)->number() < FieldNamed(b.field)->number();
  });
  return readings;
}

std::optional<v1::Expectations> ToExpectations(const Reading& reading, const Value& value,
                                               bool* ambiguous) {
  std::optional<v1::Expectations> found;
  for (v1::Expectations& expect : Candidates(*FieldNamed(reading.field), value)) {
    if (reading.equality->expected(expect) != value) continue;
    if (found) {
      if (ambiguous != nullptr) *ambiguous = true;
      return {};
    }
    found = std::move(expect);
  }
  if (!found) return {};
  // A reported value can be outside the range that a profile allows.
  const bool good = profile::ParseProfiles("name: x\nexpect: {" + LineOf(*found) + "}\n", "").ok();
  return good ? found : std::nullopt;
}

std::string LineOf(const v1::Expectations& expect) {
  return std::string(Trim(WriteMessage(expect)));
}

std::vector<std::string_view> NeverRead(const std::vector<Reading>& readings) {
  std::vector<std::string_view> names;
  const Descriptor& type = *v1::Expectations::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const std::string_view name = type.field(i)->name();
    if (std::none_of(readings.begin(), readings.end(),
                     [&](const Reading& reading) { return reading.field == name; }))
      names.push_back(name);
  }
  return names;
}

}  // namespace fabric::infer
