import { type Event, isAction, isObservation, type NewAction, type NewEvent } from '../../events/event.ts';
import { awaits } from '../../security/confirmation.ts';
import type { AgentContext } from '../context.ts';
import type { RunLog } from '../run-log.ts';
import { runAction } from '../tools/shell.ts';
import type { Decision, Mind } from './mind.ts';

interface Check {
  name: string;
  command: string;
}

/** Seconds one check may take. */
const TIMEOUT = 20;

const SANDBOX: Check = {
  name: 'sandbox',
  command:
    'uname -sr && id -un && pwd && file=$(mktemp -p . .self-check-XXXXXX) && rm -- "$file" && echo writable',
};
const GIT: Check = {
  name: 'git',
  command: 'git --version && git config user.name && git config user.email',
};
const REPOSITORY: Check = {
  name: 'repository',
  command: 'git status --short --branch && git log -1 --format=%h',
};

/** Looks at sandbox, git and log without a model, and finishes with what it saw: `DummyAgent`. */
export class SelfCheckMind implements Mind {
  readonly #context: AgentContext;
  readonly #checks: readonly Check[];

  constructor(context: AgentContext) {
    this.#context = context;
    this.#checks = context.repository ? [SANDBOX, GIT, REPOSITORY] : [SANDBOX, GIT];
  }

  introduction(): NewEvent | null {
    return null;
  }

  async decide(log: RunLog): Promise<Decision> {
    const events = await this.#sinceMessage(log);
    const runs = events.filter(
      (event) =>
        isAction(event, 'run') && event.source === 'agent' && event.replay === undefined && !awaits(event),
    );
    const check = this.#checks[runs.length];
    const next = check
      ? runAction(check.command, `Checking: ${check.name}`, { timeout: TIMEOUT })
      : finished(this.#report(events, runs));
    return {
      ok: true,
      step: { events: [next], open: [0] },
    };
  }

  /** Read back from the log itself, which is a part of the check. */
  async #sinceMessage(log: RunLog): Promise<Event[]> {
    const from = log.history.units.findLast(({ kind }) => kind === 'user');
    const first = from?.kind === 'user' ? (from.messages.at(-1)?.id ?? 0) : 0;
    const events: Event[] = [];
    for (;;) {
      const page = await this.#context.journal.read(first + events.length, 200);
      if (page.length === 0) return events;
      events.push(...page);
    }
  }

  #report(events: readonly Event[], runs: readonly Event[]): string {
    const lines = runs.map((run, n) => {
      const answer = events.find((event) => 'observation' in event && event.cause === run.id);
      const good = answer && isObservation(answer, 'run') && answer.extras.metadata.exit_code === 0;
      const said =
        answer && 'observation' in answer ? answer.content.trim().replaceAll('\n', ', ') : 'no answer';
      return { good: good === true, text: `${this.#checks[n]?.name ?? 'check'}: ${said}` };
    });
    const gap = events.find((event, n) => n > 0 && event.id !== (events[n - 1]?.id ?? 0) + 1);
    lines.push(
      gap
        ? { good: false, text: `log: event ${gap.id} does not follow the one before it` }
        : { good: true, text: `log: ${events.length} events read back in order` },
    );
    const head = lines.every(({ good }) => good) ? 'The self-check passed.' : 'The self-check failed.';
    return [head, ...lines.map(({ good, text }) => `${good ? 'ok' : 'FAILED'}  ${text}`)].join('\n');
  }
}

function finished(text: string): NewAction {
  return {
    source: 'agent',
    message: text,
    action: 'finish',
    args: { final_thought: text, outputs: {}, thought: '' },
  };
}
