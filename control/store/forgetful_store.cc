// SPDX-License-Identifier: Apache-2.0
#include "control/store/store.h"

namespace bfly::control {
namespace {

class ForgetfulStore final : public Store {
 public:
  absl::StatusOr<std::vector<std::string>> Open(const std::string&) override {
    return std::vector<std::string>();
  }
  absl::Status Begin(const std::string&) override { return absl::OkStatus(); }
  absl::Status Append(const std::vector<std::string>&) override { return absl::OkStatus(); }
  absl::Status TakeBack() override { return absl::OkStatus(); }
  absl::Status KeepLast() override { return absl::OkStatus(); }
  absl::Status Remove() override { return absl::OkStatus(); }
};

}  // namespace

std::unique_ptr<Store> MakeForgetfulStore() { return std::make_unique<ForgetfulStore>(); }

}  // namespace bfly::control
