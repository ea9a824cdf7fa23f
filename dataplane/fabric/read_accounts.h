// SPDX-License-Identifier: Apache-2.0
// Makes one account of the data plane from the accounts that its workers publish.
#pragma once

#include "dataplane/core/snapshot.h"
#include "dataplane/fabric/worker.h"

namespace bfly::dataplane {

// Any thread: fills in the workers, and the data plane's conservation, trunk totals and drops.
void ReadAccounts(const Workers& workers, Snapshot& snapshot);

}  // namespace bfly::dataplane
