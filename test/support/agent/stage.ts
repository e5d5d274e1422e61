import { stateChanged, userMessage } from '../../../src/events/build.ts';
import { EMPTY_PROJECTION, project } from '../../../src/events/projection.ts';
import type { AgentContext, AgentOutcome } from '../../../src/agent/context.ts';
import { runAgent } from '../../../src/agent/run/run-agent.ts';
import { FakeJournal, FakeLog } from './fake-journal.ts';
import { FakeModel, type Script } from './fake-model.ts';
import { FakeSandbox } from './fake-sandbox.ts';

/** A conversation with fakes around the agent: one log, one sandbox, as many runs as the test wants. */
export class Stage {
  readonly log = new FakeLog();
  readonly sandbox = new FakeSandbox();
  readonly statuses: { type: string; id: string; message: string; reason?: string }[] = [];
  readonly abort = new AbortController();
  readonly model: FakeModel;

  constructor(script: Script, says: string | null = 'Do it.', model?: string) {
    this.model = new FakeModel(script, model);
    if (says !== null) this.log.append([userMessage(says)]);
  }

  context(more: Partial<AgentContext> = {}): AgentContext {
    const row = this.log.events.reduce(project, EMPTY_PROJECTION);
    return {
      agent: 'CodeActAgent',
      conversationId: 'abc',
      repository: null,
      instructions: '',
      language: '',
      maxIterations: 50,
      maxBudget: null,
      secretDescriptions: {},
      model: this.model.runModel,
      journal: new FakeJournal(this.log),
      iterations: this.log.iterations,
      spent: { cost: row.accumulatedCost, ...row },
      reserved: Object.fromEntries(this.log.reserved),
      sandbox: async () => this.sandbox,
      condensation: row.condensation,
      notify: (status) => this.statuses.push(status),
      signal: this.abort.signal,
      ...more,
    };
  }

  async run(more: Partial<AgentContext> = {}): Promise<AgentOutcome> {
    const outcome = await runAgent(this.context(more));
    // As whoever drives it does, with the row.
    if (outcome.kind === 'failed') this.log.append([stateChanged(outcome.state, outcome.reason)]);
    return outcome;
  }

  /** Each event in a word, for the order of things. */
  story(): string[] {
    return this.log.events.map((event) => {
      if ('action' in event) return `${event.source} ${event.action}`;
      return event.observation === 'agent_state_changed'
        ? `state ${event.extras.agent_state}`
        : `→ ${event.observation}`;
    });
  }
}

export const bash = (command: string, more: object = {}) => ({
  name: 'execute_bash',
  input: { command, ...more },
});
export const edit = (input: object) => ({ name: 'str_replace_editor', input });
export const finish = (message = 'Done.') => ({ name: 'finish', input: { message } });
