// SPDX-License-Identifier: Apache-2.0
// What a caller may do. Each role may do what the ones before it may.
#pragma once

#include "absl/strings/string_view.h"

namespace bfly::control {

enum class Role {
  kNone,      // nothing: the connection is closed
  kViewer,    // read
  kOperator,  // change the fabric, as far as the primary lets others (Arbitration)
  kPrimary,   // take the primary role
};

constexpr absl::string_view NameOf(Role role) {
  switch (role) {
    case Role::kNone:
      return "none";
    case Role::kViewer:
      return "viewer";
    case Role::kOperator:
      return "operator";
    case Role::kPrimary:
      return "primary";
  }
  return "none";
}

}  // namespace bfly::control
