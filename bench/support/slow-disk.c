/*
 * Loaded before libc (LD_PRELOAD), makes each sync of a file wait SLOW_DISK_MS milliseconds first, as the disk of a
 * cloud machine does. It slows whatever program it is loaded into, ours and the bare server alike.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_for_the_disk(void) {
  const char *asked = getenv("SLOW_DISK_MS");
  long ms = asked ? atol(asked) : 0;
  struct timespec left = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) {
  }
}

int fsync(int fd) {
  wait_for_the_disk();
  return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
  wait_for_the_disk();
  return syscall(SYS_fdatasync, fd);
}
