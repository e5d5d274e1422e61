/**
 * The least an agent can do for a step: reads the streamed answer, makes the call and its result durable, and asks
 * again with all that was said so far. No history folded from a log, no prices, no limits, no view, nobody who watches;
 * imports nothing of Parley. Its input is `{url, steps}` of a model of the bench, and what the conversations that it has
 * one after the other are called.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { json } from 'node:stream/consumers';

interface Spec {
  url: string;
  steps: number;
  conversations: string[];
}

const { url, steps, conversations } = (await json(process.stdin)) as Spec;
const database = new DatabaseSync(join(mkdtempSync(join(tmpdir(), 'limit-')), 'limit.db'));
database.exec('pragma journal_mode = wal; pragma synchronous = full;');
database.exec('create table events (id integer primary key, body text not null)');
const append = database.prepare('insert into events (body) values (?)');

const tools = [{ type: 'function', function: { name: 'think', parameters: { type: 'object' } } }];
for (const name of conversations) await converse([{ role: 'user', content: name }]);
process.stdout.write('{}');

async function converse(messages: object[]): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    const [call] = await ask(messages);
    const result = 'Your thought has been logged.';
    database.exec('begin');
    append.run(JSON.stringify({ source: 'agent', action: 'think', call }));
    append.run(JSON.stringify({ source: 'agent', observation: 'think', content: result }));
    database.exec('commit');
    messages.push({ role: 'assistant', content: null, tool_calls: [call] });
    messages.push({ role: 'tool', tool_call_id: call?.id, content: result });
  }
  await ask(messages);
}

async function ask(messages: readonly object[]): Promise<{ id: string }[]> {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'bench', stream: true, tools, messages }),
  });
  const calls: { id: string }[] = [];
  for (const line of (await reply.text()).split('\n')) {
    if (!line.startsWith('data: {')) continue;
    const chunk: { choices: { delta: { tool_calls?: { id: string }[] } }[] } = JSON.parse(line.slice(6));
    calls.push(...(chunk.choices[0]?.delta.tool_calls ?? []));
  }
  return calls;
}
