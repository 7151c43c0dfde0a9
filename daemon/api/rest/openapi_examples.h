// Examples of requests and answers, for the description of the REST API. Pure.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::api {

// A table of messages as JSON. A row has the name of a message type, or the name of a method: then
// it is the answer of this method only. Fields that do not exist and wrong types are errors. The
// messages are those that are compiled in, also for descriptors of another pool.
class Examples {
 public:
  using Json = nlohmann::ordered_json;

  static Result<Examples> Parse(std::string_view json);

  // As a client sends it: the row of the request type, without the fields of the path.
  Result<Json> Request(const google::protobuf::MethodDescriptor& method);

  // As the REST server prints it: the row of the method, else that of the answer's type. Without a
  // row, a message consists of the examples of its message fields, lists of one element.
  Result<Json> Answer(const google::protobuf::MethodDescriptor& method);

  // Fails if a row was not used: its name is misspelled or obsolete.
  Status AllUsed() const;

 private:
  using Message = google::protobuf::Message;

  // Null without a row.
  Result<std::unique_ptr<Message>> Row(const std::string& name,
                                       const google::protobuf::Descriptor& type);
  Result<std::unique_ptr<Message>> OfType(const google::protobuf::Descriptor& type);
  Status AddParts(Message& message);

  std::map<std::string, std::string> rows_;
  std::set<std::string> used_;
};

}  // namespace fabric::api
