// Client of the controller: service Fabric of fabric.proto, one call at a time. Not thread-safe.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/tls_files.h"
#include "ctl/bearer_token.h"
#include "fabric/v1/fabric.pb.h"
#include "proto/fabric_service.h"

namespace fabric::ctl {

// Which events a call of WatchEvents brings.
enum class EventSpan {
  kKept,       // Those that the controller keeps, then the stream ends.
  kKeptAndNew  // Until interrupted
};

// A failed call has a message for users. UNAVAILABLE: "cannot reach the controller at H:P: reason".
// Errors of the controller itself are returned unchanged.
class Client {
 public:
  virtual ~Client() = default;

  // Why the last answer can be out of date; empty: the controller knows of no reason.
  virtual std::string_view warning() const { return {}; }

  // Called in each second of a call, with its duration so far. Empty: no more.
  void OnWait(std::function<void(Duration waited)> on_wait) { on_wait_ = std::move(on_wait); }

  // One unary rpc. The type of the request names it: client.Call<v1::Campaign>(get_campaign).
  template <class Response, class Request>
  Result<Response> Call(const Request& request) {
    const auto* const method = MethodOf(*Request::descriptor());
    if (method == nullptr || method->output_type() != Response::descriptor())
      return Status(Code::kInternal, "no rpc takes a " + Request::descriptor()->name() +
                                         " and returns a " + Response::descriptor()->name());
    Response response;
    RETURN_IF_ERROR(CallMethod(*method, request, response));
    return response;
  }

  // All elements of a list method, page by page.
  template <class Response, class Request>
  Result<Response> List(Request request) {
    Response all;
    while (true) {
      ASSIGN_OR_RETURN(Response page, Call<Response>(request));
      const std::string next = page.next_page_token();
      page.clear_next_page_token();
      all.MergeFrom(page);
      if (next.empty()) return all;
      if (next == request.page_token())
        return Status(Code::kInternal, "the controller sent the same page twice");
      request.set_page_token(next);
    }
  }

  // Returns OK when `on_event` returned false or after the last kept event, else the failure that
  // ended the stream. The deadline applies to connecting only.
  virtual Status WatchEvents(const v1::WatchEventsRequest& request, EventSpan span,
                             const std::function<bool(const v1::Event&)>& on_event) = 0;

 protected:
  virtual Status CallMethod(const google::protobuf::MethodDescriptor& method,
                            const google::protobuf::Message& request,
                            google::protobuf::Message& response) = 0;

  std::function<void(Duration waited)> on_wait_;
};

// The id, or that of the newest campaign if it is empty. NOT_FOUND without any campaign.
Result<std::string> CampaignNamed(Client& client, const std::string& id);

// The campaign with all of its results.
Result<v1::Campaign> CampaignWithResults(Client& client, const std::string& id);

struct ClientOptions {
  std::string controller;  // "HOST:PORT", "[::1]:9418"; several with commas
  Duration timeout;        // Of one call, including connecting
  tls::TlsPaths tls = {};  // Without a CA: no TLS
  TokenSource token = {};  // Bearer token, sent over TLS only
};

// gRPC client. Connects with the first call. Every call returns the error of a file that cannot be
// used.
std::unique_ptr<Client> MakeGrpcClient(const ClientOptions& options);

}  // namespace fabric::ctl
