/* Test only. Stands in for /dev/dma_heap on a kernel that was built without DMA heaps: a heap is an empty memfd, and
 * each buffer asked of it is another memfd of the wanted length. libcamera and picamera2 then run unchanged, because
 * to them a buffer is only a file descriptor that can be mapped. Loaded with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_FD = 4096 };
static bool is_heap[MAX_FD]; /* which descriptors we handed out as heaps */

static bool names_heap(const char *path) {
  return path != NULL && strncmp(path, "/dev/dma_heap/", 14) == 0;
}

static int open_heap(void) {
  int fd = memfd_create("heap", MFD_CLOEXEC);
  if (fd >= 0 && fd < MAX_FD) is_heap[fd] = true;
  return fd;
}

typedef int (*opener)(const char *, int, ...);

static int open_real(const char *symbol, const char *path, int flags, mode_t mode) {
  opener real = (opener)dlsym(RTLD_NEXT, symbol);
  int fd = real(path, flags, mode);
  if (fd >= 0 && fd < MAX_FD) is_heap[fd] = false; /* the number may have been a heap before */
  return fd;
}

#define DEFINE_OPEN(name)                                       \
  int name(const char *path, int flags, ...) {                  \
    mode_t mode = 0;                                            \
    if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) { \
      va_list rest;                                             \
      va_start(rest, flags);                                    \
      mode = (mode_t)va_arg(rest, int);                         \
      va_end(rest);                                             \
    }                                                           \
    if (names_heap(path)) return open_heap();                   \
    return open_real(#name, path, flags, mode);                 \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

static int allocate(struct dma_heap_allocation_data *wanted) {
  int fd = memfd_create("buffer", (wanted->fd_flags & O_CLOEXEC) ? MFD_CLOEXEC : 0);
  if (fd < 0) return -1;
  if (ftruncate(fd, (off_t)wanted->len) != 0) {
    close(fd);
    return -1;
  }
  wanted->fd = (unsigned)fd;
  return 0;
}

int ioctl(int fd, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  if (request == DMA_HEAP_IOCTL_ALLOC && fd >= 0 && fd < MAX_FD && is_heap[fd]) return allocate(argument);
  if (_IOC_TYPE(request) == DMA_BUF_BASE) return 0; /* SYNC, SET_NAME: nothing to do for ordinary memory */
  int (*real)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
  return real(fd, request, argument);
}
