#include "daemon/control/listing/list_call.h"

#include <google/protobuf/descriptor.h>

#include <memory>
#include <string>

namespace fabric::control {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

Status CallInTurns(const Message& request, Message& response, Moment now,
                   const TakeTurn& take_turn) {
  const FieldDescriptor& list = *response.GetDescriptor()->field(0);
  const FieldDescriptor& next = *response.GetDescriptor()->FindFieldByName("next_page_token");
  const FieldDescriptor& size = *request.GetDescriptor()->FindFieldByName("page_size");
  const FieldDescriptor& token = *request.GetDescriptor()->FindFieldByName("page_token");
  const Reflection& reflection = *response.GetReflection();
  const std::unique_ptr<Message> rest(request.New());  // What is left of the request
  rest->CopyFrom(request);
  const std::uint32_t wanted = PageSizeOf(request);
  std::size_t bytes = 0;
  while (true) {
    const auto kept = static_cast<std::uint32_t>(reflection.FieldSize(response, &list));
    request.GetReflection()->SetUInt32(rest.get(), &size, wanted - kept);
    const std::unique_ptr<Message> part(response.New());
    ASSIGN_OR_RETURN(ListTurn turn, ListTurn::Start(*rest, *list.message_type(), now));
    RETURN_IF_ERROR(take_turn(*rest, *part, turn));
    turn.Finish(*part);
    bytes += part->ByteSizeLong();
    reflection.ClearField(&response, &next);
    response.MergeFrom(*part);
    const std::string more = reflection.GetString(response, &next);
    if (more.empty() || bytes >= kPageBytesMax ||
        static_cast<std::uint32_t>(reflection.FieldSize(response, &list)) >= wanted)
      return {};
    request.GetReflection()->SetString(rest.get(), &token, more);
  }
}

}  // namespace fabric::control
