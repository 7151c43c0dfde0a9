#include <memory>
#include <utility>

#include "agents/metrics/metric_families.h"
#include "base/text.h"
#include "fabric/v1/options.pb.h"
#include "proto/fields.h"

namespace fabric::agent {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Options of one message type.
struct FieldMetrics::Type {
  struct Label {
    const FieldDescriptor* field = nullptr;
    std::string name;
  };
  struct Field {
    const FieldDescriptor* field = nullptr;
    const v1::FieldMetric* metric = nullptr;
    Labels constant;              // Label of FieldMetric::label
    std::unique_ptr<Type> below;  // Of a message
  };
  std::vector<Label> labels;
  std::vector<Field> fields;  // With a metric, or a message with one in it
};

namespace {

class FieldWalker {
 public:
  explicit FieldWalker(MetricFamilies& out) : out_(out) {}

  void Walk(const Message& message, const FieldMetrics::Type& type) {
    const std::size_t depth = labels_.size();
    for (const auto& label : type.labels)
      labels_.push_back({label.name, ValueText(message, *label.field, -1)});
    for (const auto& field : type.fields)
      if (HasValue(message, *field.field)) AddField(message, field);
    labels_.resize(depth);
  }

 private:
  void AddField(const Message& message, const FieldMetrics::Type::Field& each) {
    const FieldDescriptor& field = *each.field;
    const std::string& index_label = each.metric->index_label();
    const auto& reflection = *message.GetReflection();
    const std::size_t depth = labels_.size();
    const int size = field.is_repeated() ? reflection.FieldSize(message, &field) : 1;
    for (int n = 0; n < size; ++n) {
      const int index = field.is_repeated() ? n : -1;
      if (!index_label.empty()) labels_.push_back({index_label, Format("{}", n)});
      labels_.insert(labels_.end(), each.constant.begin(), each.constant.end());
      if (each.below != nullptr)
        Walk(index < 0 ? reflection.GetMessage(message, &field)
                       : reflection.GetRepeatedMessage(message, &field, index),
             *each.below);
      else
        AddSample(*each.metric, ValueNumber(message, field, index));
      labels_.resize(depth);
    }
  }

  void AddSample(const v1::FieldMetric& metric, double value) {
    if (metric.factor() != 0) value *= metric.factor();
    if (metric.divisor() != 0) value /= metric.divisor();
    if (metric.counter())
      out_.Counter(metric.name(), metric.help(), labels_, value);
    else
      out_.Gauge(metric.name(), metric.help(), labels_, value);
  }

  MetricFamilies& out_;
  Labels labels_;
};

// nullptr when no field of the message, or below it, has a metric.
std::unique_ptr<FieldMetrics::Type> TypeOf(const Descriptor& message) {
  auto type = std::make_unique<FieldMetrics::Type>();
  for (int n = 0; n < message.field_count(); ++n) {
    const FieldDescriptor& field = *message.field(n);
    std::string label = field.options().GetExtension(v1::metric_label);
    if (label.empty() && field.options().GetExtension(v1::key)) label = field.name();
    if (!label.empty()) type->labels.push_back({.field = &field, .name = label});
    const v1::FieldMetric& metric = field.options().GetExtension(v1::metric);
    const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    auto below = is_message ? TypeOf(*field.message_type()) : nullptr;
    if (is_message ? below == nullptr : metric.name().empty()) continue;
    Labels constant;
    if (const std::size_t equals = metric.label().find('='); equals != std::string::npos)
      constant.push_back({metric.label().substr(0, equals), metric.label().substr(equals + 1)});
    type->fields.push_back({.field = &field,
                            .metric = &metric,
                            .constant = std::move(constant),
                            .below = std::move(below)});
  }
  return type->fields.empty() ? nullptr : std::move(type);
}

}  // namespace

FieldMetrics::FieldMetrics(const Descriptor& message) : type_(TypeOf(message)) {}
FieldMetrics::~FieldMetrics() = default;

void FieldMetrics::Add(const Message& message, MetricFamilies& out) const {
  if (type_ != nullptr) FieldWalker(out).Walk(message, *type_);
}

}  // namespace fabric::agent
