// A controller whose answers are written down by the test, and a console that remembers.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ctl/app.h"
#include "ctl/client.h"
#include "proto/json.h"

namespace fabric::ctl {

// Answers with the fields below, or with `failure` when it is one. Remembers the last request of
// each kind that has anything in it.
struct FakeController {
  Status failure;
  v1::GetVersionResponse version;
  v1::ListNodesResponse nodes;
  v1::GetNodeResponse node;
  v1::ListDevicesResponse devices;
  v1::ListFindingsResponse findings;
  v1::GetFindingResponse finding;
  v1::Silence silence;
  v1::ListSilencesResponse silences;
  v1::ListRulesResponse rules;
  v1::ValidateResponse validation;
  v1::DiffNodeResponse diff;
  v1::InferProfileResponse inferred;
  v1::ListCampaignsResponse campaigns;
  std::vector<v1::Campaign> campaign;  // Answers in order; the last one again and again.
  // Begins as the first one; then the others answer in order, the last one again and again.
  std::vector<v1::GetCertificateResponse> certificate = {{}};
  v1::MeshStatus mesh;
  std::vector<v1::Event> events;
  Status stream_end = Status(Code::kUnavailable, "stream ended");

  ClientOptions options;  // What fabricctl connected with.
  v1::GetNodeRequest node_request;
  v1::ListDevicesRequest devices_request;
  v1::ListFindingsRequest findings_request;
  v1::GetFindingRequest finding_request;
  v1::AcknowledgeFindingRequest acknowledge_request;
  v1::CreateSilenceRequest silence_request;
  v1::DeleteSilenceRequest end_request;
  v1::DiffNodeRequest diff_request;
  v1::StartCampaignRequest start_request;
  std::vector<v1::GetCampaignRequest> campaign_requests;
  v1::CancelCampaignRequest cancel_request;
  v1::StartCertificateRequest certificate_request;
  v1::WatchEventsRequest watch_request;
};

struct FakeTerminal {
  std::string controller;    // FABRICCTL_CONTROLLER
  std::string user = "ada";  // USER
  bool colour = false;
  bool progress = false;
  bool writable = true;
  bool interrupted = false;  // The first wait ends early.
};

struct Said {
  int status = 0;
  std::string out;
  std::string err;
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
