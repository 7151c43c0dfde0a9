// Replacement of libFuzzer for other compilers than clang: runs every file of a corpus, and a fixed
// number of mutations of each, which are the same in every run.
//
//   fuzz_NAME CORPUS_FOLDER [MUTATIONS_PER_SEED]

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace fabric::fuzz {
namespace {

using Input = std::vector<std::uint8_t>;

constexpr int kMutationsPerSeed = 4000;  // By default
constexpr int kStepsMax = 4;             // Mutations on top of each other
constexpr std::size_t kInputBytesMax = 1 << 16;

// Random choices that do not depend on the standard library, as its distributions do.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : engine_(seed) {}
  std::size_t Below(std::size_t limit) { return limit == 0 ? 0 : engine_() % limit; }

 private:
  std::mt19937_64 engine_;
};

// Boundary values of lengths, counts and numbers.
constexpr std::uint32_t kBoundaries[] = {0,      1,      2,      3,      4,          7,
                                         8,      15,     16,     17,     0x7f,       0x80,
                                         0xff,   0x100,  0x7fff, 0x8000, 0xffff,     0x10000,
                                         0xfff0, 0xfffc, 0x4000, 0x2000, 0x7fffffff, 0xffffffff};

void OverwriteNumber(Input& input, Choices& choices) {
  const std::size_t width = std::size_t{1} << choices.Below(3);
  if (input.size() < width) return;
  const std::size_t at = choices.Below(input.size() - width + 1);
  const std::uint32_t value = kBoundaries[choices.Below(std::size(kBoundaries))];
  for (std::size_t i = 0; i < width; ++i)
    input[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

void Mutate(Input& input, const Input& other, Choices& choices) {
  const std::size_t at = choices.Below(input.size());
  const auto here = input.begin() + static_cast<std::ptrdiff_t>(at);
  switch (choices.Below(7)) {
    case 0:
      if (!input.empty()) input[at] ^= static_cast<std::uint8_t>(1U << choices.Below(8));
      break;
    case 1:
      if (!input.empty()) input[at] = static_cast<std::uint8_t>(choices.Below(256));
      break;
    case 2: OverwriteNumber(input, choices); break;
    case 3: input.resize(at); break;
    case 4:
      input.erase(here, here + static_cast<std::ptrdiff_t>(choices.Below(
                                   std::min<std::size_t>(input.size() - at, 64) + 1)));
      break;
    case 5: {  // Inserts a part of another seed, or of this one.
      const std::size_t from = choices.Below(other.size());
      const std::size_t size = choices.Below(std::min<std::size_t>(other.size() - from, 64) + 1);
      const auto begin = other.begin() + static_cast<std::ptrdiff_t>(from);
      input.insert(here, begin, begin + static_cast<std::ptrdiff_t>(size));
      break;
    }
    default:
      input.insert(here, choices.Below(8), static_cast<std::uint8_t>(choices.Below(256)));
      break;
  }
  if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
}

// Copies the input to the heap with its exact size, so that a sanitizer detects a read beyond it.
void RunOne(const Input& input) {
  Input exact(input);
  exact.shrink_to_fit();
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

int Run(const std::filesystem::path& folder, int mutations) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    files.push_back(entry.path());
  if (files.empty()) {
    std::fprintf(stderr, "%s: expected a folder with seeds\n", folder.c_str());
    return 1;
  }
  std::sort(files.begin(), files.end());
  std::vector<Input> seeds;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  RunOne({});
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    std::printf("%s\n", files[i].c_str());  // If a check fails, the last printed file is the cause.
    std::fflush(stdout);
    RunOne(seeds[i]);
    Choices choices(i);
    for (int mutation = 0; mutation < mutations; ++mutation) {
      Input input = seeds[i];
      const Input& other = seeds[choices.Below(seeds.size())];
      const std::size_t steps = 1 + choices.Below(kStepsMax);
      for (std::size_t step = 0; step < steps; ++step) Mutate(input, other, choices);
      RunOne(input);
    }
  }
  return 0;
}

}  // namespace
}  // namespace fabric::fuzz

int main(int argc, char** argv) {
  const int mutations = argc == 3 ? std::atoi(argv[2]) : fabric::fuzz::kMutationsPerSeed;
  if (argc < 2 || argc > 3 || mutations <= 0) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER [MUTATIONS_PER_SEED]\n", argv[0]);
    return 2;
  }
  return fabric::fuzz::Run(argv[1], mutations);
}
