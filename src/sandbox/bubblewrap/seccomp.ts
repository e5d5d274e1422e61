/**
 * The seccomp filter of a sandbox, as the `struct sock_filter[]` that bwrap's `--seccomp` reads (Linux
 * `include/uapi/linux/{filter,seccomp,audit}.h`). Namespaces do not cover everything the kernel offers: AF_VSOCK
 * reaches a hypervisor's agents from any network namespace, and io_uring, bpf, keyctl and new user namespaces are
 * where kernel holes have been. The rest stays open, because compilers, debuggers and language runtimes need it.
 */

type Machine = 'x64' | 'arm64';

const EPERM = 1;
const EINVAL = 22;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;
/** "The kernel has no such call": libraries then take the older way, which the filter can look into. */
const ENOSYS = 38;

const AUDIT_ARCH: Readonly<Record<Machine, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** System call numbers as [x64, arm64]; from 424 on all architectures count alike. */
const REFUSED: Readonly<Record<string, readonly [number, number]>> = {
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  setns: [308, 268],
  unshare: [272, 97],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  open_by_handle_at: [304, 265],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  syslog: [103, 116],
};

const ABSENT: Readonly<Record<string, readonly [number, number]>> = {
  // clone3 passes its flags through memory, which a filter cannot read.
  clone3: [435, 435],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
};

const CLONE: readonly [number, number] = [56, 220];
const SOCKET: readonly [number, number] = [41, 198];
const SOCKETPAIR: readonly [number, number] = [53, 199];
const IOCTL: readonly [number, number] = [16, 29];
const SHMGET: readonly [number, number] = [29, 194];
const FALLOCATE: readonly [number, number] = [285, 47];

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; clone() itself has no NEWTIME. */
const NEW_NAMESPACES = 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000;
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. */
const FAMILIES = [1, 2, 10, 16];
/**
 * Largest piece of System V shared memory, of which there are at most 4,096: what no process is attached to is seen by
 * no watchdog. Databases take a few bytes by it; nothing newer takes much.
 */
const MOST_SHARED = 64 * 1024;
/** Put characters into a terminal's input: the oldest way out of a sandbox that was given one. */
const TERMINAL_INJECTION = [0x5412, 0x541c];
/** On x64 the x32 calls share the architecture's word and set this bit in the number. */
const X32_BIT = 0x40000000;

/** Offsets in `struct seccomp_data`; the low half of an argument, as both machines are little-endian. */
const OFFSET_NUMBER = 0;
const OFFSET_ARCH = 4;
const argument = (index: number): number => 16 + 8 * index;
const highHalf = (index: number): number => argument(index) + 4;

const RETURN_ALLOW = 0x7fff0000;
const RETURN_ERRNO = 0x00050000;

interface Instruction {
  code: number;
  jumpTrue: number;
  jumpFalse: number;
  k: number;
}

const load = (offset: number): Instruction => ({ code: 0x20, jumpTrue: 0, jumpFalse: 0, k: offset });
const and = (mask: number): Instruction => ({ code: 0x54, jumpTrue: 0, jumpFalse: 0, k: mask });
const ifEqual = (k: number, jumpTrue: number, jumpFalse: number): Instruction => ({
  code: 0x15,
  jumpTrue,
  jumpFalse,
  k,
});
const ifAtLeast = (k: number, jumpTrue: number, jumpFalse: number): Instruction => ({
  code: 0x35,
  jumpTrue,
  jumpFalse,
  k,
});
const ifAnyBit = (k: number, jumpTrue: number, jumpFalse: number): Instruction => ({
  code: 0x45,
  jumpTrue,
  jumpFalse,
  k,
});
const allow: Instruction = { code: 0x06, jumpTrue: 0, jumpFalse: 0, k: RETURN_ALLOW };
const fail = (errno: number): Instruction => ({
  code: 0x06,
  jumpTrue: 0,
  jumpFalse: 0,
  k: RETURN_ERRNO | errno,
});

/** `body` runs for this one call and must end in a return, because it may overwrite the loaded number. */
function onCall(number: number, body: readonly Instruction[]): Instruction[] {
  return [ifEqual(number, 0, body.length), ...body];
}

/** One of `values` in the argument leads to `match`, anything else to `otherwise`. */
function byValue(
  index: number,
  values: readonly number[],
  match: Instruction,
  otherwise: Instruction,
): Instruction[] {
  const tests = values.map((value, at) => ifEqual(value, values.length - at, 0));
  return [load(argument(index)), ...tests, otherwise, match];
}

/** The filter for a machine as Node names it; null where the numbers are not known. */
export function seccompFilter(arch: string): Buffer | null {
  if (arch !== 'x64' && arch !== 'arm64') return null;
  const pick = (numbers: readonly [number, number]): number => numbers[arch === 'x64' ? 0 : 1];
  const program: Instruction[] = [
    load(OFFSET_ARCH),
    // A 32-bit program on a 64-bit kernel has its own numbers; refusing it whole is simpler than a second list.
    ifEqual(AUDIT_ARCH[arch], 1, 0),
    fail(ENOSYS),
    load(OFFSET_NUMBER),
    ifAtLeast(X32_BIT, 0, 1),
    fail(ENOSYS),
  ];
  for (const numbers of Object.values(REFUSED)) program.push(...onCall(pick(numbers), [fail(EPERM)]));
  for (const numbers of Object.values(ABSENT)) program.push(...onCall(pick(numbers), [fail(ENOSYS)]));
  for (const numbers of [SOCKET, SOCKETPAIR]) {
    program.push(...onCall(pick(numbers), byValue(0, FAMILIES, allow, fail(EAFNOSUPPORT))));
  }
  program.push(
    ...onCall(pick(CLONE), [load(argument(0)), ifAnyBit(NEW_NAMESPACES, 0, 1), fail(EPERM), allow]),
    ...onCall(pick(IOCTL), byValue(1, TERMINAL_INJECTION, fail(EPERM), allow)),
    ...onCall(pick(SHMGET), [
      load(highHalf(1)),
      ifEqual(0, 1, 0),
      fail(EINVAL),
      load(argument(1)),
      ifAtLeast(MOST_SHARED + 1, 0, 1),
      fail(EINVAL),
      allow,
    ]),
    // Reserving blocks without growing the file (KEEP_SIZE and no PUNCH_HOLE) would pass RLIMIT_FSIZE.
    ...onCall(pick(FALLOCATE), [load(argument(1)), and(0x3), ifEqual(0x1, 0, 1), fail(EOPNOTSUPP), allow]),
    allow,
  );
  return encode(program);
}

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, { code, jumpTrue, jumpFalse, k }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, index * 8 + 2);
    bytes.writeUInt8(jumpFalse, index * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, index * 8 + 4);
  }
  return bytes;
}
