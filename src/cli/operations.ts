import type { Operation } from './operation.ts';

/** The commands that open by themselves what they need, by its words; each is loaded when it is called. */
export const OPERATIONS: Readonly<Record<string, () => Promise<(args: readonly string[]) => Operation>>> = {
  backup: async () => (await import('./backup.ts')).parseBackup,
  doctor: async () => (await import('./doctor.ts')).parseDoctor,
  'import-openhands': async () => (await import('./import-openhands.ts')).parseImport,
  'secrets rotate': async () => (await import('./rotate.ts')).parseRotate,
  restore: async () => (await import('./backup.ts')).parseRestore,
};
