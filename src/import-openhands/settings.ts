import { type SettingsPatch, settingsPatch } from '../contract/settings.ts';

export interface FittingSettings {
  patch: SettingsPatch;
  /** What was left out, and why. Never has a value in it. */
  problems: { member: string; why: string }[];
  /** The members that are there. */
  names: string[];
}

/** How many steps of a path name one entry: a server, a token, a secret. Elsewhere it is the member. */
const ENTRY_DEPTH: Readonly<Record<string, number>> = { mcp_config: 3, secrets_store: 3 };

/**
 * Settings as V0 had them, as a change of ours: what is not set in them is not there, and what we do not take is left
 * out, entry by entry.
 */
export function fittingSettings(given: unknown): FittingSettings {
  const problems: FittingSettings['problems'] = [];
  const rest = setMembers(given, problems);
  for (;;) {
    const parsed = settingsPatch.safeParse(rest);
    if (parsed.success) return { patch: parsed.data, problems, names: Object.keys(parsed.data) };
    const [issue] = parsed.error.issues;
    const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
    const path = [...(issue?.path ?? []).map(String), ...unknown];
    const [top = ''] = path;
    const entry = path.slice(0, ENTRY_DEPTH[top] ?? 1);
    if (entry.length === 0) return { patch: {}, problems: [notSettings], names: [] };
    problems.push({ member: path.join('.'), why: issue?.message ?? 'is not valid' });
    remove(rest, entry);
  }
}

const notSettings = { member: '', why: 'is no object' };

/** A defect of V0: it kept some keys as what it shows of them. */
const MASKED = /^\*+$/;

function setMembers(given: unknown, problems: FittingSettings['problems']): Record<string, unknown> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    problems.push(notSettings);
    return {};
  }
  const members = Object.entries(given).filter(([name, value]) => {
    if (typeof value === 'string' && MASKED.test(value)) {
      problems.push({ member: name, why: 'only asterisks were kept of it' });
      return false;
    }
    return value !== null && value !== '';
  });
  // A copy: what does not fit is taken out of it.
  return structuredClone(Object.fromEntries(members));
}

function remove(from: unknown, [first = '', ...more]: readonly string[]): void {
  if (typeof from !== 'object' || from === null) return;
  const holder = from as Record<string, unknown>;
  if (more.length > 0) return remove(holder[first], more);
  if (Array.isArray(from)) from.splice(Number(first), 1);
  else delete holder[first];
}
