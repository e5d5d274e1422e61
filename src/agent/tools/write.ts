import { observation } from '../../events/build.ts';
import type { ActionEvent } from '../../events/event.ts';
import { HIDDEN } from '../../secrets/secret.ts';
import { type Bench, type Result, wrong } from './bench.ts';
import { HIDDEN_IN_TEXT, MAX_FILE_BYTES, pathIn, refusal } from './text-file.ts';

/** Puts a whole file of the workspace in place, whatever was there. What goes wrong is an observation, a sentence. */
export async function writeFile({ args }: ActionEvent<'write'>, bench: Bench): Promise<Result> {
  const { path, content } = args;
  if (content.includes(HIDDEN)) return wrong(HIDDEN_IN_TEXT);
  const bytes = Buffer.from(content, 'utf8');
  if (bytes.length > MAX_FILE_BYTES) return wrong(refusal(path, 'too_large', ''));
  const { files, root } = await bench.sandbox();
  const written = await files.write(pathIn(root, path), bytes);
  if (!written.ok) return wrong(refusal(path, written.why, written.detail));
  return observation(
    'agent',
    'write',
    `${path} is written.`,
    { path },
    { message: `I wrote the file ${path}.` },
  );
}
