/*===- limits.c - What a machine can do at most ----------------------------===*/
/*
 * usage: limits fma SECONDS CORE...          arithmetic in registers
 *        limits copy BYTES REPEATS CORE...   a copy of so many bytes, read and written
 *        limits read BYTES REPEATS CORE...   a sum over so many bytes
 *
 * One thread on each core named, all at once. Prints operations or bytes a second of all together:
 * the best of several turns, for a copy also the better of plain and non-temporal stores, for a sum
 * that of one run and of several at once.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef __AVX512F__
#define VECTOR_BYTES 64
#define CHAINS 24
#else
#define VECTOR_BYTES 32
#define CHAINS 12
#endif
#define FLOATS (VECTOR_BYTES / 4)

typedef float Vector __attribute__((vector_size(VECTOR_BYTES)));

enum { fmaSteps = 4096, cacheLine = 64, hugePage = 2 << 20 };

typedef struct Work {
  int core;
  size_t index, count;
  double seconds;
  size_t bytes, repeats;
  pthread_barrier_t *barrier;
  char *from, *to;
  struct Work *all;
  double start, end; /* Of a turn. */
  double rate;       /* The best of all together; thread 0's says it. */
} Work;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    perror("limits: sched_setaffinity");
    exit(5);
  }
}

/* Thread 0 takes note of a turn of all threads, from the first start to the last end. */
static void note(Work *work, double amount) {
  if (work->index != 0)
    return;
  double start = work->start, end = work->end;
  for (size_t i = 1; i < work->count; ++i) {
    start = work->all[i].start < start ? work->all[i].start : start;
    end = work->all[i].end > end ? work->all[i].end : end;
  }
  double rate = amount / (end - start);
  if (rate > work->rate)
    work->rate = rate;
}

/* Chains enough to hide the latency of an operation; the compiler may neither keep them in memory
   nor see through them. */
static void multiplyAdd(size_t rounds) {
  Vector sums[CHAINS], factor, term;
  for (int i = 0; i < FLOATS; ++i) {
    factor[i] = 0.5f;
    term[i] = 0.25f;
  }
  for (int i = 0; i < CHAINS; ++i)
    sums[i] = term * (float)i;
  __asm__ volatile("" : "+v"(factor), "+v"(term));
  for (size_t round = 0; round < rounds; ++round)
    for (int step = 0; step < fmaSteps; ++step) {
#pragma GCC unroll 24
      for (int i = 0; i < CHAINS; ++i) {
        sums[i] = sums[i] * factor + term;
        __asm__ volatile("" : "+v"(sums[i]));
      }
    }
}

static void *runFma(void *argument) {
  Work *work = argument;
  pin(work->core);
  const size_t rounds = 256;
  double perRound = 2.0 * FLOATS * CHAINS * fmaSteps, last = now() + work->seconds;
  int go = 1;
  do {
    pthread_barrier_wait(work->barrier);
    work->start = now();
    multiplyAdd(rounds);
    work->end = now();
    pthread_barrier_wait(work->barrier);
    note(work, perRound * (double)(rounds * work->count));
    /* Thread 0 decides for all: `to` is shared. */
    if (work->index == 0)
      *(volatile char *)work->to = now() < last;
    pthread_barrier_wait(work->barrier);
    go = *(volatile char *)work->to;
  } while (go);
  return NULL;
}

/* Sums enough that adding is not what it waits for. */
static void readInOrder(const Vector *from, size_t count) {
  Vector sums[8] = {{0}};
  for (size_t i = 0; i + 8 <= count; i += 8)
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k)
      sums[k] += from[i + (size_t)k];
  for (int k = 0; k < 8; ++k)
    __asm__ volatile("" ::"v"(sums[k]));
}

/* Four runs at once, each asked for ahead: more is under way than a prefetcher asks for. */
static void readInRuns(const Vector *from, size_t count) {
  enum { runs = 4, ahead = 16 * cacheLine };
  Vector sums[8] = {{0}};
  size_t each = count / runs;
  for (size_t i = 0; i + 2 <= each; i += 2)
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; ++k) {
      const Vector *next = from + k / 2 * each + i + k % 2;
      __builtin_prefetch((const char *)next + ahead);
      sums[k] += *next;
    }
  for (int k = 0; k < 8; ++k)
    __asm__ volatile("" ::"v"(sums[k]));
}

static void *runRead(void *argument) {
  Work *work = argument;
  pin(work->core);
  size_t vectors = work->bytes / VECTOR_BYTES;
  size_t begin = vectors * work->index / work->count;
  size_t count = vectors * (work->index + 1) / work->count - begin;
  const Vector *from = (const Vector *)work->from + begin;
  void (*ways[])(const Vector *, size_t) = {readInOrder, readInRuns};
  for (size_t turn = 0; turn < 2 * work->repeats; ++turn) {
    pthread_barrier_wait(work->barrier);
    work->start = now();
    ways[turn % 2](from, count);
    work->end = now();
    pthread_barrier_wait(work->barrier);
    note(work, (double)(vectors * VECTOR_BYTES));
  }
  return NULL;
}

static void copyPlain(Vector *to, const Vector *from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    to[i] = from[i];
    __asm__ volatile("" ::: "memory"); /* No call of memcpy, which chooses for itself. */
  }
}

static void copyAround(Vector *to, const Vector *from, size_t count) {
  for (size_t i = 0; i < count; ++i)
    __builtin_nontemporal_store(from[i], &to[i]);
  __asm__ volatile("sfence" ::: "memory");
}

static void *runCopy(void *argument) {
  Work *work = argument;
  pin(work->core);
  size_t vectors = work->bytes / VECTOR_BYTES;
  size_t begin = vectors * work->index / work->count;
  size_t count = vectors * (work->index + 1) / work->count - begin;
  Vector *to = (Vector *)work->to + begin;
  const Vector *from = (const Vector *)work->from + begin;
  void (*ways[])(Vector *, const Vector *, size_t) = {copyPlain, copyAround};
  for (size_t turn = 0; turn < 2 * work->repeats; ++turn) {
    pthread_barrier_wait(work->barrier);
    work->start = now();
    ways[turn % 2](to, from, count);
    work->end = now();
    pthread_barrier_wait(work->barrier);
    if (turn >= 2) /* The first turns touch the pages. */
      note(work, 2.0 * (double)(vectors * VECTOR_BYTES));
  }
  return NULL;
}

static char *room(size_t bytes) {
  size_t rounded = (bytes + hugePage - 1) / hugePage * hugePage;
  char *memory = aligned_alloc(hugePage, rounded);
  if (!memory) {
    fprintf(stderr, "limits: no memory for %zu bytes\n", bytes);
    exit(5);
  }
  madvise(memory, rounded, MADV_HUGEPAGE);
  memset(memory, 1, rounded);
  return memory;
}

int main(int argc, char **argv) {
  int fma = argc >= 4 && strcmp(argv[1], "fma") == 0;
  int copy = argc >= 5 && strcmp(argv[1], "copy") == 0;
  int read = argc >= 5 && strcmp(argv[1], "read") == 0;
  if (!fma && !copy && !read) {
    fprintf(stderr, "usage: limits fma SECONDS CORE... | limits copy|read BYTES REPEATS CORE...\n");
    return 2;
  }
  int first = fma ? 3 : 4;
  size_t count = (size_t)(argc - first);
  Work shared = {0};
  shared.count = count;
  shared.seconds = fma ? atof(argv[2]) : 0;
  shared.bytes = fma ? cacheLine : strtoull(argv[2], NULL, 10);
  shared.repeats = fma ? 0 : strtoull(argv[3], NULL, 10);
  shared.from = room(shared.bytes);
  shared.to = room(shared.bytes);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  shared.barrier = &barrier;
  Work *work = calloc(count, sizeof(Work));
  shared.all = work;
  pthread_t *threads = calloc(count, sizeof(pthread_t));
  if (!work || !threads)
    return 5;
  for (size_t i = 0; i < count; ++i) {
    work[i] = shared;
    work[i].index = i;
    work[i].core = atoi(argv[(size_t)first + i]);
    if (pthread_create(&threads[i], NULL, fma ? runFma : read ? runRead : runCopy, &work[i]) != 0)
      return 5;
  }
  for (size_t i = 0; i < count; ++i)
    pthread_join(threads[i], NULL);
  printf("%.6e\n", work[0].rate);
  return 0;
}
