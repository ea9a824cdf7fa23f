// SPDX-License-Identifier: Apache-2.0
#include "control/store/store.h"

namespace bfly::control {
namespace {

class ForgetfulStore final : public Store {
 public:
  absl::StatusOr<std::optional<KeptFabric>> Read() override { return std::optional<KeptFabric>(); }
  absl::StatusOr<std::vector<std::string>> Open(const std::string&) override {
    return std::vector<std::string>();
  }
  absl::Status Begin(const std::string&, const std::string&, bool) override {
    return absl::OkStatus();
  }
  absl::Status Append(const std::vector<std::string>&) override { return absl::OkStatus(); }
  absl::Status TakeBack() override { return absl::OkStatus(); }
  absl::Status KeepLast() override { return absl::OkStatus(); }
  absl::Status Keep(const KeptChange&) override { return absl::OkStatus(); }
  absl::Status Close() override { return absl::OkStatus(); }
  std::string path() const override { return ""; }
};

}  // namespace

std::unique_ptr<Store> MakeForgetfulStore() { return std::make_unique<ForgetfulStore>(); }

}  // namespace bfly::control
