import { lstat, readdir, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from './programs.ts';
import { seccompFilter } from './seccomp.ts';

/** What of this host every sandbox is made from; found once at the start. */
export interface Host {
  seccomp: Buffer;
  /** bwrap options for `/usr`, what belongs to it and the harmless part of `/etc`. */
  systemOptions: readonly string[];
}

export type HostFound = { ok: true; host: Host } | { ok: false; reason: string };

/** Programs that must be there, and what to install for each. */
const PACKAGES: Readonly<Record<string, string>> = {
  bwrap: 'bubblewrap',
  socat: 'socat',
  bash: 'bash',
  setpriv: 'util-linux',
  unshare: 'util-linux',
  perl: 'perl',
  du: 'coreutils',
};

const OLDEST_BWRAP = [0, 8];

/** Of `/etc` only what programs need to run. Never what may hold a token or a key: gitconfig, npmrc, ssl/private. */
const ETC = [
  'ssl/certs ssl/openssl.cnf pki/tls/certs pki/tls/cert.pem pki/tls/openssl.cnf pki/ca-trust ca-certificates',
  'crypto-policies alternatives ld.so.cache ld.so.conf ld.so.conf.d localtime timezone mime.types services',
  'protocols magic magic.mime inputrc terminfo fonts perl debian_version os-release bash.bashrc',
].flatMap((line) => line.split(' '));
const ETC_PATTERN = /^(python3(\.\d+)?|java(-\d+-openjdk)?)$/;

export async function inspectHost(): Promise<HostFound> {
  const seccomp = seccompFilter(process.arch);
  if (process.platform !== 'linux' || seccomp === null) {
    const machine = `${process.platform} on ${process.arch}`;
    return { ok: false, reason: `Sandboxes need Linux on x64 or arm64; this is ${machine}.` };
  }
  const missing = await missingPrograms();
  if (missing.length > 0) {
    const packages = [...new Set(missing.map((program) => PACKAGES[program]))].join(' ');
    return { ok: false, reason: `Sandboxes need ${missing.join(', ')}: run \`apt install ${packages}\`.` };
  }
  const { stdout, stderr } = await runProgram('bwrap', ['--version'], 5000);
  const version = /(\d+)\.(\d+)/.exec(stdout)?.slice(1).map(Number) ?? [];
  const [major = 0, minor = 0] = version;
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_BWRAP;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    const seen = (stdout || stderr).trim();
    return {
      ok: false,
      reason: `Sandboxes need bubblewrap ${OLDEST_BWRAP.join('.')} or newer; this host has "${seen}".`,
    };
  }
  return { ok: true, host: { seccomp, systemOptions: await systemOptions() } };
}

async function missingPrograms(): Promise<string[]> {
  const names = Object.keys(PACKAGES);
  const { stdout } = await runProgram(
    'sh',
    ['-c', 'for p; do command -v "$p" >/dev/null || echo "$p"; done', 'sh', ...names],
    5000,
  );
  return stdout.split('\n').filter(Boolean);
}

async function systemOptions(): Promise<string[]> {
  const options = ['--ro-bind', '/usr', '/usr'];
  for (const name of ['bin', 'lib', 'lib64', 'lib32', 'libx32', 'sbin']) {
    const path = join('/', name);
    const entry = await lstat(path).catch(() => null);
    if (entry?.isSymbolicLink()) options.push('--symlink', await readlink(path), path);
    else if (entry?.isDirectory()) options.push('--ro-bind', path, path);
  }
  const matching = (await readdir('/etc').catch(() => [])).filter((name) => ETC_PATTERN.test(name));
  for (const name of [...ETC, ...matching]) {
    const path = join('/etc', name);
    if ((await stat(path).catch(() => null)) !== null) options.push('--ro-bind-try', path, path);
  }
  return options;
}
