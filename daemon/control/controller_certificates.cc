// The query functions of Controller about certificates.
#include "daemon/control/certificates/certificates.h"
#include "daemon/control/controller.h"
#include "daemon/control/outbox.h"

namespace fabric::control {

Status Controller::StartCertificate(const v1::StartCertificateRequest& request,
                                    v1::Certificate& certificate, Moment now) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(certificate, certificates_->Start(request.request(), now));
  return {};
}

Status Controller::GetCertificate(const v1::GetCertificateRequest& request,
                                  v1::GetCertificateResponse& response) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(response, certificates_->Get(request.id()));
  return {};
}

}  // namespace fabric::control
