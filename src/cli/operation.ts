import type { Terminal } from './terminal.ts';

/** A command that opens by itself what it needs; gives the exit code. */
export type Operation = (context: {
  terminal: Terminal;
  env: NodeJS.ProcessEnv | undefined;
}) => Promise<number>;

/** By its words; each is loaded when it is called. */
export const OPERATIONS: Readonly<Record<string, () => Promise<(args: readonly string[]) => Operation>>> = {
  backup: async () => (await import('./backup.ts')).parseBackup,
  doctor: async () => (await import('./doctor.ts')).parseDoctor,
  'import-openhands': async () => (await import('./import-openhands.ts')).parseImport,
  'secrets rotate': async () => (await import('./rotate.ts')).parseRotate,
  restore: async () => (await import('./backup.ts')).parseRestore,
};
