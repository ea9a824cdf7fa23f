// SPDX-License-Identifier: Apache-2.0
// The compiled XDP program, which is part of the binary.
#pragma once

#include <cstddef>

namespace bfly::dataplane {

// The ELF object of edge.bpf.c.
const void* EdgeObject(size_t* bytes);

}  // namespace bfly::dataplane
