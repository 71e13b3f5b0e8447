/* Makes system calls on chosen files fail, as a disk in trouble does.
 *
 * In: FAULT_PLAN, the name of a file that is mapped. A test writes into it what is to fail, and so
 * changes that while the program runs. Out: the calls of the C library that the program's own SQLite
 * and Rust's standard library make, which fail or are passed on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum { READS = 1, WRITES = 2, SYNCS = 4, OPENS = 8, SHORT_WRITES = 16 };

/* The same layout as `Plan` in disk_faults.rs. */
struct plan {
  uint32_t calls;   /* which calls fail; none while it is 0 */
  int32_t error;    /* with which error number */
  uint32_t every;   /* each so many-th of them */
  uint32_t seen;    /* calls that could have failed so far */
  uint32_t failed;  /* calls that did */
  char names[2][32]; /* ends of the names of the files; an empty one fits none */
};

static struct plan *plan;

__attribute__((constructor)) static void load(void) {
  const char *name = getenv("FAULT_PLAN");
  if (!name) return;
  int fd = open(name, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *at = mmap(0, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) plan = at;
}

static int is_chosen(const char *path) {
  size_t length = strlen(path);
  for (int i = 0; i < 2; i++) {
    size_t n = strnlen(plan->names[i], sizeof plan->names[i]);
    if (n > 0 && n <= length && memcmp(path + length - n, plan->names[i], n) == 0) return 1;
  }
  return 0;
}

/* Whether a call on the file fails now; then errno is set. */
static int fails_on(uint32_t call, const char *path) {
  if (!is_chosen(path)) return 0;
  uint32_t n = __atomic_add_fetch(&plan->seen, 1, __ATOMIC_RELAXED);
  if (plan->every == 0 || n % plan->every != 0) return 0;
  __atomic_add_fetch(&plan->failed, 1, __ATOMIC_RELAXED);
  errno = plan->error;
  (void)call;
  return 1;
}

static int fails(uint32_t call, int fd) {
  if (!plan || !(plan->calls & call)) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0) return 0;
  path[n] = 0;
  return fails_on(call, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int fd, void *to, size_t n) {
  return fails(READS, fd) ? -1 : REAL(read)(fd, to, n);
}
ssize_t pread(int fd, void *to, size_t n, off_t at) {
  return fails(READS, fd) ? -1 : REAL(pread)(fd, to, n, at);
}
ssize_t pread64(int fd, void *to, size_t n, off64_t at) {
  return fails(READS, fd) ? -1 : REAL(pread64)(fd, to, n, at);
}
/* A short write has written half before it fails. */
ssize_t write(int fd, const void *from, size_t n) {
  if (fails(SHORT_WRITES, fd)) n = n > 1 ? n / 2 : n;
  return fails(WRITES, fd) ? -1 : REAL(write)(fd, from, n);
}
ssize_t pwrite(int fd, const void *from, size_t n, off_t at) {
  if (fails(SHORT_WRITES, fd)) n = n > 1 ? n / 2 : n;
  return fails(WRITES, fd) ? -1 : REAL(pwrite)(fd, from, n, at);
}
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at) {
  if (fails(SHORT_WRITES, fd)) n = n > 1 ? n / 2 : n;
  return fails(WRITES, fd) ? -1 : REAL(pwrite64)(fd, from, n, at);
}
int ftruncate(int fd, off_t n) { return fails(WRITES, fd) ? -1 : REAL(ftruncate)(fd, n); }
int ftruncate64(int fd, off64_t n) { return fails(WRITES, fd) ? -1 : REAL(ftruncate64)(fd, n); }
int fsync(int fd) { return fails(SYNCS, fd) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return fails(SYNCS, fd) ? -1 : REAL(fdatasync)(fd); }

static int opens_fail(const char *path) {
  return plan && (plan->calls & OPENS) && fails_on(OPENS, path);
}
static mode_t mode_of(int flags, va_list rest) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}
#define OPEN(name)                                          \
  int name(const char *path, int flags, ...) {              \
    va_list rest;                                           \
    va_start(rest, flags);                                  \
    mode_t mode = mode_of(flags, rest);                     \
    va_end(rest);                                           \
    return opens_fail(path) ? -1 : REAL(name)(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
