// SPDX-License-Identifier: Apache-2.0
#include "control/web/query.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

std::string WordIn(const HttpRequest& request, const std::string& name,
                   const std::string& otherwise) {
  const auto found = request.query.find(name);
  return found == request.query.end() || found->second.empty() ? otherwise : found->second;
}

}  // namespace

absl::StatusOr<uint64_t> NumberIn(const HttpRequest& request, const std::string& name, uint64_t min,
                                  uint64_t max, uint64_t otherwise) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return otherwise;
  uint64_t number = 0;
  if (!absl::SimpleAtoi(found->second, &number))
    return ErrorAtField(
        absl::StatusCode::kInvalidArgument, name,
        absl::StrCat("\"", found->second.substr(0, 40), "\" is not a whole number from 0"));
  if (number < min || number > max) return OutOfRange(name, number, min, max);
  return number;
}

absl::StatusOr<v1::RouteRequest> RunIn(const HttpRequest& request) {
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  v1::RouteRequest run;
  run.set_program(WordIn(request, "program", "waves"));
  run.set_permutation(WordIn(request, "permutation", "random"));
  run.set_queue(WordIn(request, "queue", ""));
  FieldErrors errors;
  const auto number = [&](const char* name, uint64_t most, uint64_t otherwise) {
    const absl::StatusOr<uint64_t> given = NumberIn(request, name, 0, most, otherwise);
    errors.Add(given.status());
    return given.value_or(otherwise);
  };
  run.set_seed(number("seed", std::numeric_limits<uint64_t>::max(), 0));
  run.set_h(static_cast<uint32_t>(number("h", kMost, 1)));
  run.set_queue_limit(static_cast<uint32_t>(number("queue_limit", kMost, 0)));
  if (request.query.contains("waves"))
    run.set_waves(static_cast<uint32_t>(number("waves", kMost, 1)));
  if (request.query.contains("buffer"))
    run.set_buffer(static_cast<uint32_t>(number("buffer", kMost, 0)));
  if (!errors.empty()) return errors.ToStatus();
  // The page draws every step itself.
  run.set_max_samples(2);
  return run;
}

absl::StatusOr<std::vector<v1::ListRequest>> CircuitsIn(const HttpRequest& request,
                                                        uint32_t page_size) {
  v1::ListRequest all;
  all.set_page_size(page_size);
  if (const auto token = request.query.find("page_token"); token != request.query.end())
    all.set_page_token(token->second);
  if (const auto broken = request.query.find("broken"); broken != request.query.end())
    all.set_broken(broken->second == "1");
  const auto find = request.query.find("find");
  if (find == request.query.end() || find->second.empty()) return std::vector{all};
  const std::vector<std::string> words = absl::StrSplit(find->second, '-');
  uint32_t first = 0, second = 0;
  if (words.size() > 2 || !absl::SimpleAtoi(words[0], &first) ||
      (words.size() == 2 && !absl::SimpleAtoi(words[1], &second))) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "find",
                        absl::StrCat("\"", find->second.substr(0, 40),
                                     "\" is neither a row, such as 3, nor an input and an output, "
                                     "such as 3-9"));
  }
  v1::ListRequest from = all;
  from.set_input(first);
  if (words.size() == 2) {
    from.set_output(second);
    return std::vector{from};
  }
  from.clear_page_token();
  v1::ListRequest to = all;
  to.set_output(first);
  return std::vector{from, to};
}

}  // namespace bfly::control
