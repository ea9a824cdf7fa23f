// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/registry.h"

#include <utility>

#include "dataplane/programs/collision.h"
#include "dataplane/programs/minimum.h"
#include "dataplane/programs/single_paths.h"

namespace bfly::dataplane {
namespace {

template <class... Parameters>
std::vector<std::string> NamesOf(const std::variant<Parameters...>*) {
  return {std::string(Parameters::kName)...};
}

}  // namespace

std::vector<std::string> ProgramNames() {
  return NamesOf(static_cast<const ProgramParameters*>(nullptr));
}

absl::Status CheckParameters(const ProgramParameters& parameters, bool reads) {
  return std::visit([reads](const auto& of_program) { return of_program.Check(reads); },
                    parameters);
}

std::unique_ptr<CircuitProgram> MakeProgram(const ProgramParameters& parameters,
                                            std::vector<Candidates> requests, RouteTable& routes,
                                            bool limited) {
  if (!requests.empty() && requests.front().only) {
    return std::make_unique<SinglePaths>(std::move(requests), routes, limited);
  }
  return std::visit(
      [&]<class Parameters>(const Parameters& of_program) -> std::unique_ptr<CircuitProgram> {
        return std::make_unique<typename Parameters::Program>(std::move(requests), of_program,
                                                              routes, limited);
      },
      parameters);
}

}  // namespace bfly::dataplane
