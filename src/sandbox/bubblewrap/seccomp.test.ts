import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seccompFilter } from './seccomp.ts';

const ALLOW = 0x7fff0000;
const ERRNO = 0x00050000;
const ARCH = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const [EPERM, EINVAL, ENOSYS, EAFNOSUPPORT] = [1, 22, 38, 97];

/** Runs a filter as the kernel does (classic BPF), for the instructions that ours are made of. */
function run(filter: Buffer, call: { arch: number; number: number; args?: number[] }): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number >>> 0, 0);
  data.writeUInt32LE(call.arch, 4);
  for (const [index, value] of (call.args ?? []).entries())
    data.writeBigUInt64LE(BigInt(value), 16 + 8 * index);
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at += 1) {
    const code = filter.readUInt16LE(at * 8);
    const k = filter.readUInt32LE(at * 8 + 4);
    const jump = (holds: boolean): void => void (at += filter.readUInt8(at * 8 + (holds ? 2 : 3)));
    if (code === 0x06) return k;
    if (code === 0x20) accumulator = data.readUInt32LE(k);
    else if (code === 0x54) accumulator = (accumulator & k) >>> 0;
    else if (code === 0x15) jump(accumulator === k);
    else if (code === 0x35) jump(accumulator >= k);
    else if (code === 0x45) jump((accumulator & k) !== 0);
    else assert.fail(`instruction ${code} is not one of ours`);
  }
  return assert.fail('the filter ran past its end');
}

for (const machine of ['x64', 'arm64'] as const) {
  const pick = (x64: number, arm64: number): number => (machine === 'x64' ? x64 : arm64);
  const decide = (number: number, ...args: number[]): number =>
    run(seccompFilter(machine) ?? Buffer.alloc(0), { arch: ARCH[machine], number, args });

  test(`${machine}: mounting, namespaces, keys and bpf are refused`, () => {
    for (const [x64, arm64] of [
      [165, 40],
      [272, 97],
      [308, 268],
      [250, 219],
      [321, 280],
    ] as const) {
      assert.equal(decide(pick(x64, arm64)), ERRNO | EPERM);
    }
  });

  test(`${machine}: io_uring and clone3 look as if the kernel had none`, () => {
    for (const number of [425, 426, 427, 435]) assert.equal(decide(number), ERRNO | ENOSYS);
  });

  test(`${machine}: sockets only of the unix, internet and netlink families`, () => {
    const socket = pick(41, 198);
    for (let family = 0; family < 64; family += 1) {
      const expected = [1, 2, 10, 16].includes(family) ? ALLOW : ERRNO | EAFNOSUPPORT;
      assert.equal(decide(socket, family), expected, `family ${family}`);
    }
  });

  test(`${machine}: a process or thread may be made, a namespace not`, () => {
    const clone = pick(56, 220);
    assert.equal(decide(clone, 0x003d0f00), ALLOW);
    for (const flag of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      assert.equal(decide(clone, flag | 17), ERRNO | EPERM, flag.toString(16));
    }
  });

  test(`${machine}: no characters into a terminal's input`, () => {
    const ioctl = pick(16, 29);
    assert.equal(decide(ioctl, 0, 0x5412), ERRNO | EPERM);
    assert.equal(decide(ioctl, 0, 0x541c), ERRNO | EPERM);
    assert.equal(decide(ioctl, 0, 0x5413), ALLOW);
  });

  test(`${machine}: System V shared memory in small pieces only`, () => {
    const shmget = pick(29, 194);
    for (const size of [0, 56, 65_536]) assert.equal(decide(shmget, 0, size), ALLOW);
    for (const size of [65_537, 2 ** 31, 2 ** 32, 2 ** 32 + 56]) {
      assert.equal(decide(shmget, 0, size), ERRNO | EINVAL, String(size));
    }
  });

  test(`${machine}: calls of another architecture are refused whole`, () => {
    const filter = seccompFilter(machine) ?? Buffer.alloc(0);
    assert.equal(run(filter, { arch: 0x40000003, number: pick(0, 63) }), ERRNO | ENOSYS);
    assert.equal(decide(0x40000000 | 41, 2), ERRNO | ENOSYS);
  });

  test(`${machine}: reading, writing and running programs stay allowed`, () => {
    for (const number of [pick(0, 63), pick(1, 64), pick(59, 221), pick(101, 117)]) {
      assert.equal(decide(number), ALLOW);
    }
  });
}

test('a machine whose numbers are not known has no filter', () => {
  assert.equal(seccompFilter('riscv64'), null);
});
