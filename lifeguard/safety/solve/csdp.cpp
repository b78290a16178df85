#include "lifeguard/safety/solve/csdp.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

// CSDP's header declares C functions for C++ by itself, and names a type and a function alike.
#include <csdp/declarations.h>

// CSDP's own version of this function reads settings from a file "param.csdp" in the working
// directory and prints its progress. The library calls it by name, so that programs can replace it:
// here the documented defaults, a few iterations more, and silence.
extern "C" void initparams(struct paramstruc* params, int* printlevel) {
  params->axtol = 1e-9;
  params->atytol = 1e-9;
  params->objtol = 1e-8;
  params->pinftol = 1e8;
  params->dinftol = 1e8;
  params->maxiter = 150;
  params->minstepfrac = 0.90;
  params->maxstepfrac = 0.97;
  params->minstepp = 1e-8;
  params->minstepd = 1e-8;
  params->usexzgap = 1;
  params->tweakgap = 0;
  params->affine = 0;
  params->perturbobj = 1;
  params->fastmode = 0;
  *printlevel = 0;
}

namespace {

// CSDP has no place for user data: one for each thread.
thread_local const lifeguard::Deadline* present_deadline = nullptr;

}  // namespace

// CSDP asks this function after each iteration whether to stop. Its own version takes over the
// process's signal handlers.
extern "C" int user_exit(int /*n*/, int /*k*/, struct blockmatrix /*c*/, double* /*a*/,
                         double /*dual_objective*/, double /*primal_objective*/,
                         double /*constant_offset*/, struct constraintmatrix* /*constraints*/,
                         struct blockmatrix /*x*/, double* /*y*/, struct blockmatrix /*z*/,
                         struct paramstruc /*params*/) {
  return present_deadline != nullptr && present_deadline->passed() ? 1 : 0;
}

namespace lifeguard {
namespace {

// CSDP frees everything it is given with free(), and counts array entries from 1.
template <class T>
T* allocate(int count) {
  return static_cast<T*>(std::calloc(static_cast<std::size_t>(count) + 1, sizeof(T)));
}

void add_block(constraintmatrix& constraint, int number, int block, int size,
               const std::vector<CsdpProblem::Entry>& entries) {
  auto* data = allocate<sparseblock>(0);
  const int count = static_cast<int>(entries.size());
  data->blocknum = block;
  data->blocksize = size;
  data->constraintnum = number;
  data->numentries = count;
  data->entries = allocate<double>(count);
  data->iindices = allocate<int>(count);
  data->jindices = allocate<int>(count);
  for (int i = 0; i < count; ++i) {
    const CsdpProblem::Entry& entry = entries[static_cast<std::size_t>(i)];
    data->iindices[i + 1] = entry.row + 1;
    data->jindices[i + 1] = entry.column + 1;
    data->entries[i + 1] = entry.value;
  }
  data->issparse = 1;
  data->next = constraint.blocks;
  constraint.blocks = data;
}

}  // namespace

CsdpSolution solve_with_csdp(const CsdpProblem& problem, const Deadline& deadline) {
  const int count = static_cast<int>(problem.constraints.size());
  const int block_count = static_cast<int>(problem.blocks.size());
  auto* constraints = allocate<constraintmatrix>(count);
  auto* values = allocate<double>(count);
  for (int i = 1; i <= count; ++i) {
    values[i] = problem.values(i - 1);
    // Each block goes before those that are there.
    const auto& blocks = problem.constraints[static_cast<std::size_t>(i - 1)];
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      add_block(constraints[i], i, block->block + 1,
                problem.blocks[static_cast<std::size_t>(block->block)].size, block->entries);
    }
  }
  blockmatrix c;
  c.nblocks = block_count;
  c.blocks = allocate<blockrec>(block_count);
  int size = 0;
  for (int b = 1; b <= block_count; ++b) {
    const CsdpProblem::Block& block = problem.blocks[static_cast<std::size_t>(b - 1)];
    size += block.size;
    c.blocks[b].blockcategory = block.diagonal ? DIAG : MATRIX;
    c.blocks[b].blocksize = block.size;
    if (block.diagonal) {
      c.blocks[b].data.vec = allocate<double>(block.size);
      for (int i = 0; i < block.size; ++i) c.blocks[b].data.vec[i + 1] = block.objective(i, 0);
    } else {
      c.blocks[b].data.mat = allocate<double>(block.size * block.size);
      Eigen::Map<Eigen::MatrixXd>(c.blocks[b].data.mat, block.size, block.size) = block.objective;
    }
  }

  blockmatrix primal, dual;
  double* y = nullptr;
  double primal_objective = 0, dual_objective = 0;
  present_deadline = &deadline;
  initsoln(size, count, c, values, constraints, &primal, &y, &dual);
  CsdpSolution solution;
  solution.code = easy_sdp(size, count, c, values, constraints, 0.0, &primal, &y, &dual,
                           &primal_objective, &dual_objective);
  present_deadline = nullptr;
  for (int b = 1; b <= block_count; ++b) {
    const CsdpProblem::Block& block = problem.blocks[static_cast<std::size_t>(b - 1)];
    if (block.diagonal) {
      solution.primal.emplace_back(
          Eigen::Map<const Eigen::VectorXd>(primal.blocks[b].data.vec + 1, block.size));
    } else {
      solution.primal.emplace_back(
          Eigen::Map<const Eigen::MatrixXd>(primal.blocks[b].data.mat, block.size, block.size));
    }
  }
  solution.y = Eigen::Map<const Eigen::VectorXd>(y + 1, count);
  free_prob(size, count, c, values, constraints, primal, y, dual);
  return solution;
}

namespace {

/// All of a solution's numbers in one row, after its code.
std::vector<double> numbers_of(const CsdpSolution& solution) {
  std::vector<double> numbers = {static_cast<double>(solution.code)};
  numbers.insert(numbers.end(), solution.y.begin(), solution.y.end());
  for (const Eigen::MatrixXd& block : solution.primal) {
    numbers.insert(numbers.end(), block.data(), block.data() + block.size());
  }
  return numbers;
}

/// A solution of the problem's sizes, all zero.
CsdpSolution empty_solution(const CsdpProblem& problem) {
  CsdpSolution solution;
  solution.code = kCsdpDidNotReturn;
  solution.y = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(problem.constraints.size()));
  for (const CsdpProblem::Block& block : problem.blocks) {
    solution.primal.emplace_back(
        Eigen::MatrixXd::Zero(block.size, block.diagonal ? 1 : block.size));
  }
  return solution;
}

bool write_all(int file, const std::vector<double>& numbers) {
  const char* next = reinterpret_cast<const char*>(numbers.data());
  std::size_t left = numbers.size() * sizeof(double);
  while (left > 0) {
    const ssize_t written = write(file, next, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    left -= static_cast<std::size_t>(written);
  }
  return true;
}

/// Until there is something to read, or its end; whoever asks to stop ends the child.
void wait_for_answer(int file, pid_t child, const Deadline& deadline) {
  constexpr int kMilliseconds = 50;
  pollfd answer{file, POLLIN, 0};
  while (poll(&answer, 1, kMilliseconds) <= 0) {
    if (deadline.stop_requested()) kill(child, SIGKILL);
  }
}

bool read_all(int file, std::vector<double>& numbers) {
  char* next = reinterpret_cast<char*>(numbers.data());
  std::size_t left = numbers.size() * sizeof(double);
  while (left > 0) {
    const ssize_t got = read(file, next, left);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    left -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

CsdpSolution solve_with_csdp_apart(const CsdpProblem& problem, const Deadline& deadline,
                                   int seconds) {
  CsdpSolution solution = empty_solution(problem);
  std::array<int, 2> ends = {-1, -1};
  if (pipe(ends.data()) != 0) return solution;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const rlimit limit{static_cast<rlim_t>(seconds), static_cast<rlim_t>(seconds)};
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CPU, &limit);
    setrlimit(RLIMIT_CORE, &no_core);
    const bool written =
        write_all(ends[1], numbers_of(solve_with_csdp(problem, deadline.without_stop())));
    _exit(written ? 0 : 1);  // without what the parent does at its end
  }
  close(ends[1]);
  std::vector<double> numbers(numbers_of(solution).size());
  if (child > 0) wait_for_answer(ends[0], child, deadline);
  const bool came_back = child > 0 && read_all(ends[0], numbers);
  close(ends[0]);
  if (child > 0) {
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (!came_back) return solution;
  const double* next = numbers.data();
  solution.code = static_cast<int>(*next++);
  solution.y = Eigen::Map<const Eigen::VectorXd>(next, solution.y.size());
  next += solution.y.size();
  for (Eigen::MatrixXd& block : solution.primal) {
    block = Eigen::Map<const Eigen::MatrixXd>(next, block.rows(), block.cols());
    next += block.size();
  }
  return solution;
}

}  // namespace lifeguard
