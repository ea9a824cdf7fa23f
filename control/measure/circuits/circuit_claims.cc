// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuits/circuit_claims.h"

namespace bfly::control {

const std::vector<Claim>& CircuitClaims() {
  static const std::vector<Claim> all = [] {
    std::vector<Claim> claims;
    for (const auto& some :
         {RandomizedClaims(), BaselineClaims(), TailClaims(), LinkChoiceClaims()}) {
      claims.insert(claims.end(), some.begin(), some.end());
    }
    return claims;
  }();
  return all;
}

}  // namespace bfly::control
