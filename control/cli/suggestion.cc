// SPDX-License-Identifier: Apache-2.0
#include "control/cli/suggestion.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly::control {
namespace {

// Returns the closest of `names`, or nothing if it differs from `word` by more than a third of the
// letters.
std::string Closest(const std::string& word, const std::vector<std::string>& names) {
  std::string closest;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const size_t distance = EditDistance(word, name);
    if (distance >= least) continue;
    least = distance;
    closest = name;
  }
  return closest;
}

std::vector<const CLI::App*> VerbsOf(const CLI::App& app) {
  return app.get_subcommands(std::function<bool(const CLI::App*)>());
}

// Verbs without a group are not in the help, and nobody is told to type them.
std::vector<std::string> NamesOf(const std::vector<const CLI::App*>& verbs) {
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs) {
    if (!verb->get_group().empty()) names.push_back(verb->get_name());
  }
  return names;
}

std::vector<std::string> OptionsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> distance(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) distance[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) distance[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      distance[i][j] = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1,
                                 distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.size()][b.size()];
}

std::string Suggestion(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  for (const std::string& word : words) {
    if (word == "--") return "";
    if (absl::StartsWith(word, "--")) {
      const std::string name = word.substr(0, word.find('='));
      const std::vector<std::string> options = OptionsOf(*at);
      if (std::find(options.begin(), options.end(), name) != options.end()) continue;
      const std::string meant = Closest(name, options);
      return absl::StrCat("`", path, "` has no option ", name,
                          meant.empty() ? absl::StrCat("; see `", path, " --help`")
                                        : absl::StrCat("; did you mean ", meant, "?"));
    }
    const std::vector<const CLI::App*> verbs = VerbsOf(*at);
    if (verbs.empty() || absl::StartsWith(word, "-")) continue;
    const auto next = std::find_if(verbs.begin(), verbs.end(), [&word](const CLI::App* verb) {
      return verb->get_name() == word;
    });
    if (next == verbs.end()) {
      const std::string meant = Closest(word, NamesOf(verbs));
      return absl::StrCat("there is no verb `", path, " ", word, "`; ",
                          meant.empty()
                              ? absl::StrCat("use one of ", absl::StrJoin(NamesOf(verbs), ", "))
                              : absl::StrCat("did you mean `", path, " ", meant, "`?"));
    }
    at = *next;
    absl::StrAppend(&path, " ", word);
  }
  return "";
}

}  // namespace bfly::control
