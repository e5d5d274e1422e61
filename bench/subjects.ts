import type { Subject } from './row.ts';
import { firstOutput } from './rows/first-output.ts';
import { connectAndCut } from './rows/connect-and-cut.ts';
import { liveSockets } from './rows/live-sockets.ts';
import { liveSse } from './rows/live-sse.ts';
import { loadThenRest } from './rows/load-then-rest.ts';
import { manyDriven } from './rows/many-driven.ts';
import { memory } from './rows/memory.ts';
import { postConversations } from './rows/post-conversations.ts';
import { postProviders } from './rows/post-providers.ts';
import { postSettings } from './rows/post-settings.ts';
import { reading } from './rows/reading.ts';
import { redaction } from './rows/redaction.ts';
import { slowDisk } from './rows/slow-disk.ts';
import { stalledClient } from './rows/stalled-client.ts';
import { start } from './rows/start.ts';
import { stepOverhead } from './rows/step-overhead.ts';

/** All that is measured, in the order of the table. */
export const SUBJECTS: Readonly<Record<string, Subject>> = {
  'post-settings': postSettings,
  'post-conversations': postConversations,
  'post-providers': postProviders,
  'slow-disk': slowDisk,
  'first-output': firstOutput,
  'step-overhead': stepOverhead,
  'live-sse': liveSse,
  'live-sockets': liveSockets,
  'stalled-client': stalledClient,
  'connect-and-cut': connectAndCut,
  memory,
  start,
  reading,
  'many-driven': manyDriven,
  redaction,
  'load-then-rest': loadThenRest,
};
