#include "tests/unit/rules/field_faults.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"

namespace fabric::rules {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// One value in a snapshot: the steps from the snapshot to it.
struct Step {
  const FieldDescriptor* field = nullptr;
  int index = -1;  // Of a repeated field; -1: the field as a whole
};
using FieldPlace = std::vector<Step>;

// Not values of the machine: gaps, the time, counters, which counters_test covers.
bool IsLeftOut(const FieldDescriptor& field) {
  const std::string name(field.name());
  return field.containing_type() == v1::NodeSnapshot::descriptor() &&
         (name == "gaps" || name == "taken_at" || name == "counters" || name == "captured");
}

bool IsMessage(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

std::string UseOfNetdev(const v1::NodeSnapshot& node, const v1::NetInterface& netdev) {
  for (const v1::RdmaDevice& device : node.rdma_devices())
    for (const v1::Port& port : device.ports())
      if (port.netdev() == netdev.name()) return "";
  return netdev.has_bond_member() ? "[member]" : "[other]";
}

std::string UseOfFunction(const v1::NodeSnapshot& node, const v1::PciFunction& function) {
  const auto has_address = [&](const auto& each) {
    return each.pci_address() == function.address();
  };
  if (std::ranges::any_of(node.rdma_devices(), has_address)) return "[nic]";
  if (std::ranges::any_of(node.gpus(), has_address)) return "[gpu]";
  return function.class_code().starts_with("0604") ? "[bridge]" : "[other]";
}

// Elements of one list that serve different purposes.
std::string UseOf(const v1::NodeSnapshot& node, const std::string& field, int index) {
  if (field == "net_interfaces") return UseOfNetdev(node, node.net_interfaces(index));
  if (field == "pci_functions") return UseOfFunction(node, node.pci_functions(index));
  if (field != "rdma_devices") return "";
  return node.rdma_devices(index).function().role() == v1::FUNCTION_ROLE_FABRIC ? "" : "[other]";
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

// Calls set(reflection, message, field) of the last field of the place.
template <class Set>
Mutation At(const FieldPlace& place, Set set) {
  return [place, set](v1::NodeSnapshot& snapshot) {
    Message& holder = HolderOf(snapshot, place);
    set(*holder.GetReflection(), holder, *place.back().field);
  };
}

Mutation WithoutField(const FieldPlace& place) {
  return At(place, [](const Reflection& reflection, Message& holder, const FieldDescriptor& field) {
    reflection.ClearField(&holder, &field);
  });
}

Mutation WithoutElement(const FieldPlace& place) {
  const int index = place.back().index;
  return At(place,
            [index](const Reflection& reflection, Message& holder, const FieldDescriptor& field) {
              for (int i = index; i + 1 < reflection.FieldSize(holder, &field); ++i)
                reflection.SwapElements(&holder, &field, i, i + 1);
              reflection.RemoveLast(&holder, &field);
            });
}

// Numbers that differ from `value` in ways that matter.
std::vector<std::int64_t> OtherNumbers(std::int64_t value) {
  std::vector<std::int64_t> others;
  for (const std::int64_t other :
       {std::int64_t{0}, std::int64_t{1}, value + 1, value / 2, value * 2, std::int64_t{70'000}})
    if (other != value && std::ranges::find(others, other) == others.end()) others.push_back(other);
  return others;
}

std::int64_t NumberAt(const Message& holder, const FieldDescriptor& field, int index) {
  const Reflection& is = *holder.GetReflection();
  const bool one = index < 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return one ? is.GetInt32(holder, &field) : is.GetRepeatedInt32(holder, &field, index);
    case FieldDescriptor::CPPTYPE_INT64:
      return one ? is.GetInt64(holder, &field) : is.GetRepeatedInt64(holder, &field, index);
    case FieldDescriptor::CPPTYPE_UINT32:
      return one ? is.GetUInt32(holder, &field) : is.GetRepeatedUInt32(holder, &field, index);
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<std::int64_t>(one ? is.GetUInt64(holder, &field)
                                           : is.GetRepeatedUInt64(holder, &field, index));
    case FieldDescriptor::CPPTYPE_ENUM:
      return one ? is.GetEnumValue(holder, &field) : is.GetRepeatedEnumValue(holder, &field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return static_cast<std::int64_t>(one ? is.GetDouble(holder, &field)
                                           : is.GetRepeatedDouble(holder, &field, index));
    default: return 0;
  }
}

template <class T>
using Setter = void (Reflection::*)(Message*, const FieldDescriptor*, T) const;
template <class T>
using ElementSetter = void (Reflection::*)(Message*, const FieldDescriptor*, int, T) const;

template <class T>
void Set(const Reflection& reflection, Message& holder, const FieldDescriptor& field, int index,
         T value, Setter<T> one, ElementSetter<T> element) {
  if (index < 0)
    (reflection.*one)(&holder, &field, value);
  else
    (reflection.*element)(&holder, &field, index, value);
}

void SetNumber(const Reflection& to, Message& holder, const FieldDescriptor& field, int index,
               std::int64_t value) {
  using R = Reflection;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return Set<std::int32_t>(to, holder, field, index, static_cast<std::int32_t>(value),
                               &R::SetInt32, &R::SetRepeatedInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return Set<std::int64_t>(to, holder, field, index, value, &R::SetInt64, &R::SetRepeatedInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return Set<std::uint32_t>(to, holder, field, index, static_cast<std::uint32_t>(value),
                                &R::SetUInt32, &R::SetRepeatedUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return Set<std::uint64_t>(to, holder, field, index, static_cast<std::uint64_t>(value),
                                &R::SetUInt64, &R::SetRepeatedUInt64);
    case FieldDescriptor::CPPTYPE_ENUM:
      return Set<int>(to, holder, field, index, static_cast<int>(value % 8), &R::SetEnumValue,
                      &R::SetRepeatedEnumValue);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Set<double>(to, holder, field, index, static_cast<double>(value), &R::SetDouble,
                         &R::SetRepeatedDouble);
    default: return;
  }
}

// Values that a scalar may have instead.
std::vector<Mutation> WrongValues(const Message& holder, const FieldPlace& place) {
  const auto& [field, index] = place.back();
  std::vector<Mutation> variants;
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    const Reflection& is = *holder.GetReflection();
    const bool now =
        index < 0 ? is.GetBool(holder, field) : is.GetRepeatedBool(holder, field, index);
    variants.push_back(
        At(place, [now, i = index](const Reflection& to, Message& m, const FieldDescriptor& f) {
          Set<bool>(to, m, f, i, !now, &Reflection::SetBool, &Reflection::SetRepeatedBool);
        }));
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    for (const std::string text : {"wrong", "0000:00:1f.0", "0000:0000:0000:0000", "10.10.99.1/24"})
      variants.push_back(
          At(place, [text, i = index](const Reflection& to, Message& m, const FieldDescriptor& f) {
            if (i < 0)
              to.SetString(&m, &f, text);
            else
              to.SetRepeatedString(&m, &f, i, text);
          }));
  } else {
    for (const std::int64_t other : OtherNumbers(NumberAt(holder, *field, index)))
      variants.push_back(
          At(place, [other, i = index](const Reflection& to, Message& m, const FieldDescriptor& f) {
            SetNumber(to, m, f, i, other);
          }));
  }
  return variants;
}

class FaultCollector {
 public:
  explicit FaultCollector(const v1::NodeSnapshot& snapshot) : snapshot_(snapshot) {
    Visit(snapshot, {}, {.path = {}, .element = {}});
  }
  std::vector<FieldFault> Take() { return std::move(faults_); }

 private:
  struct PlaceName {
    std::string path;
    std::string element;
  };
  static constexpr int kElementsOfOneEnd = 4;

  void Visit(const Message& message, const FieldPlace& at, const PlaceName& name) {
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    for (const FieldDescriptor* const field : fields) {
      if (IsLeftOut(*field)) continue;
      FieldPlace place = at;
      place.push_back({.field = field});
      const std::string dot = at.empty() ? "" : ".";
      const PlaceName own{.path = name.path + dot + std::string(field->name()),
                          .element = name.element + dot + std::string(field->name())};
      if (field->is_repeated())
        VisitRepeated(message, place, own);
      else
        VisitOne(message, place, own);
    }
  }

  void VisitOne(const Message& message, const FieldPlace& place, const PlaceName& name) {
    const FieldDescriptor* const field = place.back().field;
    Add(place, name, FaultKind::kRemoved, {WithoutField(place)});
    Add(place, name, FaultKind::kUnreadable, {WithoutField(place)});
    if (IsMessage(*field))
      Visit(message.GetReflection()->GetMessage(message, field), place, name);
    else
      Add(place, name, FaultKind::kWrong, WrongValues(message, place));
  }

  void VisitRepeated(const Message& message, FieldPlace place, const PlaceName& name) {
    Add(place, name, FaultKind::kRemoved, {WithoutField(place)});
    Add(place, name, FaultKind::kUnreadable, {WithoutField(place)});
    const FieldDescriptor* const field = place.back().field;
    std::map<std::string, std::vector<int>> by_use;
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i)
      by_use[place.size() == 1 ? UseOf(snapshot_, std::string(field->name()), i) : ""].push_back(i);
    for (const auto& [use, indexes] : by_use) {
      const int last = static_cast<int>(indexes.size()) - kElementsOfOneEnd;
      for (int n = 0; n < static_cast<int>(indexes.size()); ++n) {
        if (n >= kElementsOfOneEnd && n < last) continue;
        place.back().index = indexes[static_cast<std::size_t>(n)];
        VisitElement(message, place,
                     {.path = name.path + use,
                      .element = Format("{}[{}]", name.element, place.back().index)});
      }
    }
  }

  void VisitElement(const Message& message, const FieldPlace& place, const PlaceName& name) {
    const auto& [field, index] = place.back();
    const PlaceName element{.path = name.path + "[]", .element = name.element};
    Add(place, element, FaultKind::kRemoved, {WithoutElement(place)});
    if (IsMessage(*field))
      Visit(message.GetReflection()->GetRepeatedMessage(message, field, index), place, name);
    else
      Add(place, element, FaultKind::kWrong, WrongValues(message, place));
  }

  void Add(const FieldPlace& place, const PlaceName& name, FaultKind fault,
           std::vector<Mutation> variants) {
    faults_.push_back({.path = name.path,
                       .field = std::string(place[0].field->name()),
                       .element = name.element,
                       .fault = fault,
                       .variants = std::move(variants)});
  }

  const v1::NodeSnapshot& snapshot_;
  std::vector<FieldFault> faults_;
};

}  // namespace

const char* NameOf(FaultKind fault) {
  static constexpr const char* kNames[] = {"wrong", "removed", "unreadable"};
  return kNames[static_cast<std::size_t>(fault)];
}

std::vector<FieldFault> FaultsOf(const v1::NodeSnapshot& snapshot) {
  return FaultCollector(snapshot).Take();
}

}  // namespace fabric::rules
