import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { z } from 'zod';

import type { Answer } from './answers.ts';
import { requestBody } from './script.ts';

const requestList = z.array(
  z.object({
    index: z.number(),
    turn: z.number(),
    abandoned: z.boolean(),
    headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
    body: requestBody,
  }),
);

export interface ModelProcess extends AsyncDisposable {
  readonly baseUrl: string;
  readonly pid: number;
  requests(): Promise<z.infer<typeof requestList>>;
  open(gate: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * The scripted model server in a process of its own. It ends with `close()`, and by itself when the process that
 * started it goes away, since it serves only while its standard input is open.
 */
export async function spawnModelServer(
  script: { byTurn: Answer[]; other?: Answer } | { queue: Answer[] },
): Promise<ModelProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'model-server-'));
  const file = join(folder, 'script.json');
  await writeFile(file, JSON.stringify(script));
  const program = fileURLToPath(new URL('server.ts', import.meta.url));
  const args = [program, '--script', file, '--stop-with-stdin'];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');

  let printed = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    printed += String(text);
    if (printed.includes('\n')) break;
  }
  await rm(folder, { recursive: true });
  const port = Number(printed);
  if (child.pid === undefined || !Number.isInteger(port) || port === 0) {
    child.kill();
    throw new Error(`The model server did not start: ${printed}`);
  }
  const control = `http://127.0.0.1:${port}/control`;

  async function close(): Promise<void> {
    child.stdin.destroy();
    await exited;
  }

  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    pid: child.pid,
    async requests() {
      const response = await fetch(`${control}/requests`);
      return requestList.parse(await response.json());
    },
    async open(gate) {
      await fetch(`${control}/gates/${encodeURIComponent(gate)}`, { method: 'POST' });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
