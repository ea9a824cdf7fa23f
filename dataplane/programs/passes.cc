// SPDX-License-Identifier: Apache-2.0
// The list of every pass of every program. The place of a pass in it is the number of the pass.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "dataplane/programs/circuit_passes.h"
#include "dataplane/programs/collision.h"
#include "dataplane/programs/minimum.h"
#include "dataplane/programs/pass.h"

namespace bfly::dataplane {
namespace {

constexpr std::array<const Pass*, 7> kPasses = {
    &kWalkPass, &kInstallPass, &kReservePass, &kReleasePass, &kCountPass, &kAskPass, &kForgetPass};

}  // namespace

const Pass& PassAt(uint32_t number) { return *kPasses.at(number); }

uint32_t PassCount() { return kPasses.size(); }

uint32_t NumberOf(const Pass& pass) {
  const auto found = std::find(kPasses.begin(), kPasses.end(), &pass);
  if (found == kPasses.end()) std::abort();
  return static_cast<uint32_t>(found - kPasses.begin());
}

}  // namespace bfly::dataplane
