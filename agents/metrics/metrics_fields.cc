#include "agents/metrics/metric_families.h"
#include "base/text.h"
#include "fabric/v1/options.pb.h"
#include "proto/fields.h"

namespace fabric::agent {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

class FieldWalker {
 public:
  explicit FieldWalker(MetricFamilies& out) : out_(out) {}

  void Walk(const Message& message) {
    const std::size_t depth = labels_.size();
    const auto& type = *message.GetDescriptor();
    for (int n = 0; n < type.field_count(); ++n) {
      const std::string& label = type.field(n)->options().GetExtension(v1::metric_label);
      if (!label.empty()) labels_.push_back({label, ValueText(message, *type.field(n), -1)});
    }
    for (int n = 0; n < type.field_count(); ++n)
      if (HasValue(message, *type.field(n))) AddField(message, *type.field(n));
    labels_.resize(depth);
  }

 private:
  void AddField(const Message& message, const FieldDescriptor& field) {
    const v1::FieldMetric& metric = field.options().GetExtension(v1::metric);
    const bool below = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!below && metric.name().empty()) return;
    const std::size_t depth = labels_.size();
    const int size = field.is_repeated() ? message.GetReflection()->FieldSize(message, &field) : 1;
    for (int n = 0; n < size; ++n) {
      const int index = field.is_repeated() ? n : -1;
      if (!metric.index_label().empty()) labels_.push_back({metric.index_label(), Format("{}", n)});
      if (const std::size_t equals = metric.label().find('='); equals != std::string::npos)
        labels_.push_back({metric.label().substr(0, equals), metric.label().substr(equals + 1)});
      if (below)
        Walk(index < 0 ? message.GetReflection()->GetMessage(message, &field)
                       : message.GetReflection()->GetRepeatedMessage(message, &field, index));
      else
        AddSample(metric, ValueNumber(message, field, index));
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

}  // namespace

void AddFields(const Message& message, MetricFamilies& out) {
  FieldWalker(out).Walk(message);
}

}  // namespace fabric::agent
