// Fake controller with scripted answers, and a fake console that keeps its output.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <any>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/app.h"
#include "ctl/client.h"
#include "proto/json.h"

namespace fabric::ctl {

// Answers each call with what the test set for its type of response, or with `failure` when it is
// one, and remembers all requests.
struct FakeController {
  Status failure = {};
  std::map<std::string, Status> failures = {};  // Of requests that contain the text
  std::vector<v1::Event> events = {};
  Status stream_end = Status(Code::kUnavailable, "stream ended");
  ClientOptions options = {};  // What fabricctl connected with; the last of several
  Duration waited = {};        // Each call reports this time, if it is not 0.
  // Runs before the answer of each call, with what its client connected with. Calls to several
  // contexts run at the same time.
  std::function<void(const ClientOptions&)> on_call = {};

  // The answers of this type, in order; the last one again and again. At first one that is empty.
  template <class Response>
  std::vector<Response>& Answers() {
    Script& script = scripts[Response::descriptor()];
    if (!script.answers.has_value()) {
      script.answers = std::vector<Response>(1);
      script.answer = [](const std::any& answers, std::size_t turn, auto& response) {
        const auto& all = std::any_cast<const std::vector<Response>&>(answers);
        response.CopyFrom(all[std::min(turn, all.size() - 1)]);
      };
    }
    return std::any_cast<std::vector<Response>&>(script.answers);
  }
  template <class Response>
  Response& Answer() {
    return Answers<Response>().front();
  }

  // The requests of this type, oldest first.
  template <class Request>
  std::vector<Request> Requests() const {
    std::vector<Request> all;
    const auto at = requests.find(Request::descriptor());
    if (at == requests.end()) return all;
    for (const std::string& text : at->second)
      EXPECT_TRUE(all.emplace_back().ParseFromString(text));
    return all;
  }
  // The last one; empty when there was none.
  template <class Request>
  Request LastRequest() const {
    const std::vector<Request> all = Requests<Request>();
    return all.empty() ? Request() : all.back();
  }

  struct Script {
    std::any answers;  // std::vector of the type
    void (*answer)(const std::any& answers, std::size_t turn, google::protobuf::Message&);
  };
  std::map<const google::protobuf::Descriptor*, Script> scripts = {};
  std::map<const google::protobuf::Descriptor*, std::vector<std::string>> requests = {};
};

struct FakeTerminal {
  std::string controller;    // FABRICCTL_CONTROLLER
  std::string user = "ada";  // USER
  std::string tls_ca = {};   // FABRICCTL_TLS_CA
  std::string tls_key = {};  // FABRICCTL_TLS_KEY
  bool colour = false;
  bool progress = false;
  bool writable = true;
  bool interrupted = false;  // The first wait ends early.
  int waits = 0;             // The wait with this number ends early; 0: see above.
  std::size_t columns = 0;
  bool ascii = false;
  std::string token_command = {};  // FABRICCTL_TOKEN_COMMAND
  std::string config = {};         // Default path of the configuration file
};

struct Said {
  int status = 0;
  std::string out;
  std::string err;
  bool catches_interrupts = false;
};

// Runs fabricctl with these words, split at blanks.
Said RunWords(std::string_view words, FakeController& controller,
              const FakeTerminal& terminal = {});

// A message from its JSON form; a mistake in it fails the test.
template <class Message>
Message FromText(std::string_view json) {
  Message message;
  const Status status = FromJson(json, message);
  EXPECT_TRUE(status.ok()) << status.message();
  return message;
}

}  // namespace fabric::ctl
