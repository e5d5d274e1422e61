import { z } from 'zod';
import { line } from './text.ts';

/** Longer paths than the kernel takes. */
const path = line(4096);

export const listQuery = z.object({
  path: path.optional().describe('A folder, relative to the workspace; the workspace itself when not given.'),
});
export const selectQuery = z.object({ file: path.min(1).describe('A file, relative to the workspace.') });
export const diffQuery = z.object({ path: path.min(1).describe('A file, relative to the repository.') });

export const fileNames = z
  .array(z.string())
  .describe('Folders first, with a "/" at the end. The header X-Has-More says when there are more.');
export const fileText = z.object({ code: z.string() });

export const uploaded = z.object({
  message: z.string(),
  uploaded_files: z.array(z.string()).describe('Where each file is now.'),
  skipped_files: z.array(z.object({ name: z.string(), reason: z.string() })),
});

export const changes = z.array(
  z.object({ status: z.enum(['M', 'A', 'D', 'R', 'U']), path: z.string().describe('In the repository.') }),
);
export const fileDiff = z.object({
  modified: z.string().describe('As it is; "" where it is not there.'),
  original: z
    .string()
    .describe('As it was where the conversation\'s branch began; "" where it was not there.'),
});

export const runtimeConfig = z.object({ runtime_id: z.null(), session_id: z.string() });
export const vscodeUrl = z.object({ vscode_url: z.null() });
export const webHosts = z.object({ hosts: z.object({}) });

export const microagents = z.object({
  microagents: z.array(
    z.object({
      name: z.string(),
      type: z.enum(['repo', 'knowledge']),
      content: z.string(),
      triggers: z.array(z.string()),
      inputs: z.array(z.object({ name: z.string(), description: z.string() })),
      tools: z.array(z.string()),
    }),
  ),
});
