import type { Terminal } from './terminal.ts';

/** A command that opens by itself what it needs; gives the exit code. */
export type Operation = (context: {
  terminal: Terminal;
  env: NodeJS.ProcessEnv | undefined;
}) => Promise<number>;
