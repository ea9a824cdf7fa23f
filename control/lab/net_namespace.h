// SPDX-License-Identifier: Apache-2.0
// Network namespaces of Linux: opened, made, given names as `ip netns` does, taken away again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/lab/plan.h"

namespace bfly::control {

class NetNamespace {
 public:
  // NotFound: there is none.
  static absl::StatusOr<NetNamespace> Open(const NamespaceRef& where);
  // A new one without a name. It ends with this object unless something else holds it.
  static absl::StatusOr<NetNamespace> Make();

  NetNamespace(NetNamespace&& other) noexcept
      : descriptor_(other.descriptor_), cookie_(other.cookie_) {
    other.descriptor_ = -1;
  }
  NetNamespace& operator=(NetNamespace&&) = delete;
  ~NetNamespace();

  int descriptor() const { return descriptor_; }
  // Linux gives this number to no other namespace until the next boot.
  uint64_t cookie() const { return cookie_; }
  // Runs `work` in a thread that is in the namespace.
  absl::Status Run(const std::function<absl::Status()>& work) const;

 private:
  explicit NetNamespace(int descriptor) : descriptor_(descriptor) {}
  absl::Status ReadCookie();

  int descriptor_;
  uint64_t cookie_ = 0;
};

// Whether Open() failed because nothing is there, or something that is not a namespace. After other
// errors, such as too many open files, it is not known what is there.
bool IsGone(const absl::Status& opened);

// Called between any two effects; tests end the process there.
using BetweenEffects = std::function<void()>;

// Makes /run/netns ready for names, as `ip netns add` does where it has not been done. It stays.
absl::Status PrepareNames();
// FailedPrecondition: mounts of this process are not seen by others, as inside `ip netns exec`.
absl::Status NamesAreSeenByOthers();

// Whether something stands at the place of this name, be it a namespace or not.
bool NameIsTaken(const std::string& name);

// Gives the namespace its name. The file in /run/netns contains `mark` before it can be seen.
// AlreadyExists: somebody has the name.
absl::Status NameNamespace(const NetNamespace& made, const std::string& name,
                           const std::string& mark, const BetweenEffects& between);

// Takes the name away from the namespace with this cookie, or from the file that was left with this
// mark. Whatever else has the name stays. Returns true if something was removed.
absl::StatusOr<bool> RemoveName(const std::string& name, uint64_t cookie, const std::string& mark);

}  // namespace bfly::control
