#include "tests/unit/api/controller_world.h"

#include <gtest/gtest.h>

#include "proto/fabric_service.h"

namespace fabric::testing {

ControllerWorld::ControllerWorld(const std::function<void(store::Store&)>& fill,
                                 std::vector<v1::Role> loopback_roles, const WorldTls& tls)
    : authenticator_("fabric", std::move(loopback_roles)) {
  auto opened = store::OpenSqlite(directory_.path() + "/state.db");
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  store_ = *std::move(opened);
  if (fill) fill(*store_);
  controller_ = std::make_unique<control::Controller>(control::ControllerOptions(), *store_,
                                                      agents_, events_, clock_.Now());
  EXPECT_TRUE(controller_->Load(clock_.Now()).ok());
  auto audit = access::AuditLog::Open(directory_.path() + "/state.db.audit", 100);
  EXPECT_TRUE(audit.ok()) << audit.status().message();
  audit_ = *std::move(audit);
  gate_ = std::make_unique<access::Gate>(authenticator_, *audit_, clock_);
  agents_.SetListener({
      .admit = [this](const access::Caller& caller,
                      const std::string* node) { return gate_->AdmitAgent(caller, node); },
      .on_message =
          [this](SessionId session, const v1::AgentMessage& message) {
            return controller_->OnMessage(session, message, clock_.Now());
          },
      .on_gone =
          [this](SessionId session, const std::string& reason) {
            controller_->OnGone(session, reason, clock_.Now());
          },
  });
  api_ = std::make_unique<api::Api>(*controller_, *gate_, clock_, calls_);
  const api::CallFunction call = [this](auto&&... arguments) { return api_->Call(arguments...); };
  const api::Page metrics = {
      "/metrics",
      [this] {
        return api::HttpResponse{
            .content_type = "text/plain",
            .body = MetricsText(api::ReadMetrics(*controller_, *gate_, calls_))};
      },
      [this](const access::Caller& caller) {
        return gate_->Admit(caller, {"/metrics", {v1::ROLE_METRICS, v1::ROLE_VIEWER}}).status();
      }};
  rest_service_ = std::make_unique<api::RestService>(call, *api::RoutesOf(FabricService()),
                                                     std::vector<api::Page>{metrics});
  grpc_ = *api::GrpcFront::Listen({"127.0.0.1", 0}, call, events_, watchers_, agents_, tls.grpc);
  rest_ =
      *api::RestServer::Listen({"127.0.0.1", 0}, *rest_service_, events_, watchers_, {}, tls.http);
}

ControllerWorld::~ControllerWorld() {
  rest_->Stop();
  grpc_->Stop();
}

}  // namespace fabric::testing
