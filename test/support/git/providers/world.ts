/**
 * What lies at each fake provider, in the words of none. Every one serves it in its own shapes, and the conformance
 * suite asks for it through the port.
 */

/** The token of the user `ann`, who sees everything, and others of hers that are good for less. */
export const TOKENS = {
  good: 'tok-Q7w9Zk3Lm8Xv2Rt5Yb',
  expired: 'tok-expired-N4c8Hs1Pd6',
  readOnly: 'tok-readonly-T2j5Gf9Ku3',
} as const;

/** Relative names: the server puts what comes before (an organisation) in front. */
export const REPOSITORIES = [
  {
    id: 11,
    owner: 'acme',
    name: 'app',
    isPublic: true,
    branch: 'main',
    pushedAt: '2026-03-03T10:00:00Z',
    stars: 5,
  },
  {
    id: 12,
    owner: 'acme',
    name: 'hidden',
    isPublic: false,
    branch: 'trunk',
    pushedAt: '2026-02-02T10:00:00Z',
    stars: 0,
  },
  {
    id: 13,
    owner: 'ann',
    name: 'notes',
    isPublic: true,
    branch: 'main',
    pushedAt: '2026-01-01T10:00:00Z',
    stars: 1,
  },
] as const;
export type WorldRepository = (typeof REPOSITORIES)[number];

/** Of `acme/app`. */
export const BRANCHES = [
  { name: 'feature/login', commit: 'c'.repeat(40), isProtected: false },
  { name: 'fix/crash', commit: 'f'.repeat(40), isProtected: false },
  { name: 'main', commit: 'a'.repeat(40), isProtected: true },
] as const;

/** Of `acme/app`, at every branch; `docs/large.md` is larger than a file may be. */
export const FILES: Readonly<Record<string, string>> = {
  'README.md': 'Hällo\n',
  '.openhands/microagents/doors.md': '---\ntriggers: [door]\n---\nOil the hinges.\n',
  'docs/guide.md': 'A guide\n',
  'docs/more/deep.md': 'Deep\n',
  'docs/large.md': 'x'.repeat(1024 * 1024 + 1),
};

/** What lies in a folder of {@link FILES}; undefined when there is none. */
export function entriesOf(folder: string): { name: string; path: string; isFolder: boolean }[] | undefined {
  const prefix = folder === '' ? '' : `${folder}/`;
  const names = new Map<string, boolean>();
  for (const path of Object.keys(FILES)) {
    if (!path.startsWith(prefix)) continue;
    const [name = '', ...more] = path.slice(prefix.length).split('/');
    names.set(name, more.length > 0);
  }
  if (names.size === 0) return undefined;
  return Array.from(names, ([name, isFolder]) => ({ name, path: prefix + name, isFolder }));
}

export interface WorldComment {
  id: number;
  author: string;
  body: string;
  at: string;
}

/** Of `acme/app`; it is assigned to ann. */
export const ISSUE = {
  number: 3,
  title: 'The login fails',
  body: 'With a wrong password.',
  author: 'bob',
  label: 'bug',
} as const;

/** Of `acme/app`, by ann: everything keeps it from being merged. */
export const PULL_REQUEST = {
  number: 5,
  title: 'Mend the login',
  body: 'It fails no longer.',
  head: 'feature/login',
  base: 'main',
} as const;

/** Of `acme/hidden`, by ann: nothing is wrong with it. */
export const FINE_PULL_REQUEST = { number: 4, title: 'Tidy up', head: 'tidy', base: 'trunk' } as const;

export const REVIEW = {
  open: {
    id: 71,
    author: 'bob',
    body: 'Name this.',
    path: 'src/login.ts',
    line: 12,
    at: '2026-03-01T10:00:00Z',
  },
  settled: {
    id: 72,
    author: 'bob',
    body: 'Typo.',
    path: 'src/login.ts',
    line: 3,
    at: '2026-03-01T11:00:00Z',
  },
} as const;

/** The checks of the newest commit of each branch. */
export const CHECKS: Readonly<Record<string, { name: string; state: 'success' | 'failure' }[]>> = {
  'feature/login': [
    { name: 'lint', state: 'success' },
    { name: 'test', state: 'failure' },
  ],
  main: [{ name: 'test', state: 'success' }],
  'fix/crash': [],
};

/** What changes while it is talked to. */
export interface WorldState {
  issueComments: WorldComment[];
  requestComments: WorldComment[];
  /** Branches that a pull request was opened from. */
  opened: string[];
}

export function newState(): WorldState {
  return {
    issueComments: [
      { id: 51, author: 'bob', body: 'First', at: '2026-02-01T10:00:00Z' },
      { id: 52, author: 'ann', body: 'Second', at: '2026-02-01T11:00:00Z' },
    ],
    requestComments: [{ id: 61, author: 'bob', body: 'Why?', at: '2026-03-01T09:00:00Z' }],
    opened: ['feature/login'],
  };
}

export function addedComment(list: WorldComment[], body: string): WorldComment {
  const comment = { id: 90 + list.length, author: 'ann', body, at: '2026-04-01T10:00:00Z' };
  list.push(comment);
  return comment;
}

/** One page of a list, as numbered pages have it. */
export function pageOf<T>(list: readonly T[], page: number, perPage: number): { items: T[]; more: boolean } {
  return { items: list.slice((page - 1) * perPage, page * perPage), more: page * perPage < list.length };
}
