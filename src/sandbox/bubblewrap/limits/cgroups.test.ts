import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { parseHierarchies } from './cgroup-files.ts';
import { cgroupV2 } from './cgroup-v2.ts';

let top: string;
beforeEach(async () => void (top = await mkdtemp(join(tmpdir(), 'parley-cg-'))));
afterEach(() => rm(top, { recursive: true, force: true }));

/** Files as the kernel would show them; they take what is written, which is what the test looks at. */
async function group(path: string, controllers: string, handedOn: string): Promise<string> {
  const directory = join(top, path);
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'cgroup.controllers'), controllers);
  await writeFile(join(directory, 'cgroup.subtree_control'), handedOn);
  await writeFile(join(directory, 'cgroup.procs'), '');
  return directory;
}

const LIMITS = { memoryBytes: 1 << 30, processes: 77, cpus: 1.5, diskBytes: 1 };

test('version 2: every limit is set for the group as a whole, swap and common end included', async () => {
  await group('', 'cpu memory pids', 'cpu memory pids');
  await group('parley-x', 'cpu memory pids', 'cpu memory pids');
  const keeper = await cgroupV2({ mount: top, own: top }, 'parley-x');
  assert.deepEqual(keeper?.kinds, { memory: 'cgroup v2', processes: 'cgroup v2', cpu: 'cgroup v2' });
  const bounds = await keeper.create('parley-x.1', LIMITS);
  const read = (file: string): Promise<string> => readFile(join(top, 'parley-x', 'parley-x.1', file), 'utf8');
  assert.equal(await read('memory.max'), String(1 << 30));
  assert.equal(await read('memory.swap.max'), '0');
  assert.equal(await read('memory.oom.group'), '1');
  assert.equal(await read('pids.max'), '77');
  assert.equal(await read('cpu.max'), '150000 100000');
  assert.deepEqual(bounds.joinFiles, [join(top, 'parley-x', 'parley-x.1', 'cgroup.procs')]);
});

test('version 2: that the kernel ended the group for its memory is told', async () => {
  await group('', 'memory pids', 'memory pids');
  await group('parley-x', 'memory pids', 'memory pids');
  const keeper = await cgroupV2({ mount: top, own: top }, 'parley-x');
  const bounds = await keeper?.create('parley-x.1', LIMITS);
  const events = join(top, 'parley-x', 'parley-x.1', 'memory.events');
  await writeFile(events, 'low 0\nmax 12\noom 0\noom_kill 0\n');
  assert.equal(await bounds?.breach(), null);
  await writeFile(events, 'low 0\nmax 90\noom 1\noom_kill 7\noom_group_kill 1\n');
  assert.match((await bounds?.breach()) ?? '', /memory.*1 GiB/);
  await bounds?.kill();
  assert.equal(await readFile(join(top, 'parley-x', 'parley-x.1', 'cgroup.kill'), 'utf8'), '1');
});

test('version 2: a group above is taken where the own one has no controllers to hand on', async () => {
  await group('', 'cpu memory pids', 'cpu memory pids');
  await group('slice', 'cpu memory pids', 'cpu memory pids');
  await group('slice/login.scope', '', '');
  await group('slice/parley-x', 'cpu memory pids', 'cpu memory pids');
  const keeper = await cgroupV2({ mount: top, own: join(top, 'slice/login.scope') }, 'parley-x');
  assert.deepEqual(keeper?.leftovers, [join(top, 'slice/parley-x')]);
});

test('version 2: without memory and pids there is none', async () => {
  await group('', 'hugetlb', '');
  assert.equal(await cgroupV2({ mount: top, own: top }, 'parley-x'), null);
});

test('hierarchies are found by controller, also where a container shows a part', () => {
  const mountinfo = [
    '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory',
    '36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct',
    '37 31 0:34 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids',
    '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw',
  ].join('\n');
  const own = '9:memory:/a/b\n8:cpu,cpuacct:/a\n7:pids:/docker/abc/inner\n0::/user.slice\n';
  const found = parseHierarchies(mountinfo, own);
  assert.equal(found.get('memory')?.own, '/sys/fs/cgroup/memory/a/b');
  assert.equal(found.get('cpu')?.own, '/sys/fs/cgroup/cpu,cpuacct/a');
  assert.equal(found.get('pids')?.own, '/sys/fs/cgroup/pids/inner');
  assert.deepEqual(found.get(''), {
    mount: '/sys/fs/cgroup/unified',
    own: '/sys/fs/cgroup/unified/user.slice',
  });
});
