import { stateChanged } from '../../events/build.ts';
import type { NewAction, NewEvent } from '../../events/event.ts';
import type { Place, Rating, SecurityAnalyzer } from '../../security/analyzer.ts';
import { asksUser, awaiting, holding } from '../../security/confirmation.ts';
import { openAnalyzer } from '../../security/open-analyzer.ts';
import type { AgentContext } from '../context.ts';
import type { Recorded } from '../minds/record.ts';

/**
 * Rates the actions of a step, and holds it up at the first that its user is asked about: what comes before that one is
 * done first, what comes after it is recorded when it is answered.
 */
export class Guard {
  readonly #mode: boolean;
  readonly #analyzer: SecurityAnalyzer | null;

  private constructor(mode: boolean, analyzer: SecurityAnalyzer | null) {
    this.#mode = mode;
    this.#analyzer = analyzer;
  }

  static async open({ confirmationMode = false, securityAnalyzer }: AgentContext): Promise<Guard> {
    return new Guard(confirmationMode, securityAnalyzer ? await openAnalyzer(securityAnalyzer) : null);
  }

  check(step: Recorded, place: Place): Recorded {
    let asked: { at: number; action: NewAction; reason: string } | null = null;
    const events = step.events.map((event, at): NewEvent => {
      if (!('action' in event) || !('security_risk' in event.args)) return event;
      const rating = this.#rate(event, place);
      const rated = withRisk(event, rating);
      if (this.#mode && !asked && asksUser(event, rating, this.#analyzer)) {
        asked = { at, action: rated, reason: rating.reason };
      }
      return rated;
    });
    return asked ? heldUp({ ...step, events }, asked) : { ...step, events };
  }

  #rate(action: NewAction, place: Place): Rating {
    return this.#analyzer?.rate(action, place) ?? { risk: -1, reason: '' };
  }
}

function heldUp(
  { events, open, settled = [] }: Recorded,
  { at, action, reason }: { at: number; action: NewAction; reason: string },
): Recorded {
  if (at === 0) {
    const question = holding(awaiting(action), events.slice(1));
    const asking = [stateChanged('awaiting_user_confirmation', reason), question];
    return { events: asking, open: [1], awaiting: 1, settled };
  }
  const before = events.slice(0, at);
  return {
    events: before.map((event, n) => (n === at - 1 ? holding(event, events.slice(at)) : event)),
    open: open.filter((n) => n < at),
    settled,
  };
}

function withRisk(action: NewAction, { risk }: Rating): NewAction {
  // It has the member: whoever asks has looked. The union does not say which actions these are.
  return { ...action, args: { ...action.args, security_risk: risk } } as NewAction;
}
