// SPDX-License-Identifier: Apache-2.0
#include "dataplane/xdp/edge_object.h"

#include "edge.skel.h"

namespace bfly::dataplane {

const void* EdgeObject(size_t* bytes) { return edge_bpf__elf_bytes(bytes); }

}  // namespace bfly::dataplane
