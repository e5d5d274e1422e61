import assert from 'node:assert/strict';

import type { Event, NewAction, NewEvent } from '../../../src/events/event.ts';
import type { HostedRepository, ProviderWrite } from '../../../src/agent/tools/provider/hosted.ts';
import { carryOut } from '../../../src/agent/tools/carry-out.ts';
import { EditMemory } from '../../../src/agent/tools/edit-memory.ts';
import { TaskMemory } from '../../../src/agent/tools/task-memory.ts';
import type { Tool } from '../../../src/agent/tools/tool.ts';
import { FakeSandbox } from './fake-sandbox.ts';

type Answer = Extract<Event, { observation: string }>;

/** Calls tools one after the other, with what they remember kept as a log would. */
export class Workshop {
  readonly sandbox = new FakeSandbox();
  readonly edits = new EditMemory();
  /** What the provider was asked to write. */
  readonly writes: ProviderWrite[] = [];
  hosted: HostedRepository | null = null;
  readonly tasks = new TaskMemory();
  readonly events: Event[] = [];
  signal = new AbortController().signal;

  /** What came of a call that is right. */
  async call(tool: Tool, input: unknown): Promise<Answer> {
    const understood = tool.understand(input, '');
    assert.ok(understood.ok, understood.ok ? '' : understood.problem);
    const action = this.#log(understood.action);
    const { sandbox, edits, tasks, signal, hosted } = this;
    assert.ok('action' in action);
    const result = await carryOut(action, {
      sandbox: async () => sandbox,
      signal,
      edits,
      tasks,
      wrote: (write) => void this.writes.push(write),
      ...(hosted && { hosted }),
    });
    const answer = this.#log({ ...result, cause: action.id });
    assert.ok('observation' in answer);
    return answer;
  }

  #log(event: NewAction | NewEvent): Event {
    const logged: Event = { id: this.events.length, timestamp: '2026-01-02T03:04:05.000000', ...event };
    this.events.push(logged);
    this.edits.add(logged);
    this.tasks.add(logged);
    return logged;
  }
}

/** What the model is told about a call that is wrong. */
export function problem(tool: Tool, input: unknown): string {
  const understood = tool.understand(input, '');
  assert.ok(!understood.ok);
  return understood.problem;
}
