import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Where a path is on the host, and where it stands inside. */
export type Mount = readonly [string, string];

/** The user inside, whatever the host's uid is. */
export const INSIDE_ID = 1000;

/** `/etc` of every sandbox, where the host's own would tell about the host or hold its secrets. */
const FILES: Readonly<Record<string, string>> = {
  passwd:
    `root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:${INSIDE_ID}:${INSIDE_ID}:agent:/home/agent:/bin/bash\n` +
    'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
  group: `root:x:0:\nagent:x:${INSIDE_ID}:\nnogroup:x:65534:\n`,
  hosts: '127.0.0.1 localhost sandbox\n::1 localhost\n',
  hostname: 'sandbox\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n',
  // Without a server a look-up fails at once instead of waiting.
  'resolv.conf': '# Names are resolved by the proxy at 127.0.0.1:3128.\n',
  shells: '/bin/sh\n/bin/bash\n',
};

const SYSTEM_BUNDLES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'];
/** Where the certificates stand inside when the service has a CA file. */
export const CA_BUNDLE = '/etc/ca-bundle.pem';

/** Writes what all sandboxes share into `directory`; returns what is mounted where. */
export async function makeSharedFiles(directory: string, caFile: string | null): Promise<Mount[]> {
  await mkdir(directory, { recursive: true });
  const mounts: Mount[] = [];
  for (const [name, content] of Object.entries(FILES)) {
    await writeFile(join(directory, name), content, { mode: 0o644 });
    mounts.push([join(directory, name), join('/etc', name)]);
  }
  if (caFile === null) return mounts;
  // A copy, since the service's file may lie where the sandbox's uid cannot go; with the system's certificates,
  // because SSL_CERT_FILE and its like replace them.
  const bundles = await Promise.all(SYSTEM_BUNDLES.map((path) => readFile(path, 'utf8').catch(() => '')));
  const own = await readFile(caFile, 'utf8');
  const system = bundles.find((bundle) => bundle !== '') ?? '';
  await writeFile(join(directory, 'ca-bundle.pem'), system.includes(own) ? system : `${system}\n${own}`);
  mounts.push([join(directory, 'ca-bundle.pem'), CA_BUNDLE]);
  return mounts;
}

/** As `git lfs install` writes it. Required: without git-lfs a checkout fails, where files would be mere pointers. */
const LFS = [
  '[filter "lfs"]',
  '\tclean = git-lfs clean -- %f',
  '\tsmudge = git-lfs smudge -- %f',
  '\tprocess = git-lfs filter-process',
  '\trequired = true',
];

/** The conversation's `/etc/gitconfig`: read-only inside, so that no command can send a push elsewhere. */
export function gitConfig(identity: { name: string; email: string }, frontConfig: string): string {
  return [
    '[user]',
    `\tname = ${quoted(identity.name)}`,
    `\temail = ${quoted(identity.email)}`,
    // The workspace belongs to the sandbox's user, but a mount may show it otherwise.
    '[safe]',
    '\tdirectory = *',
    // Empty: forgets helpers of the host's installation. There is no credential to give inside.
    '[credential]',
    '\thelper =',
    ...LFS,
    frontConfig.trimEnd(),
    '',
  ].join('\n');
}

/** A value of git-config(1): without quotes `#` and `;` begin comments and spaces are cut. */
function quoted(value: string): string {
  const escaped = value.replace(/[\\"]/g, (character) => `\\${character}`).replace(/[\0\r\n]+/g, ' ');
  return `"${escaped}"`;
}
