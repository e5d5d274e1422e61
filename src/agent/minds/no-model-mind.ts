import type { NewEvent } from '../../events/event.ts';
import { modelMissing } from '../failure.ts';
import type { Decision, Mind } from './mind.ts';

/** Goes on after a replay where no model is configured: it says so. */
export class NoModelMind implements Mind {
  introduction(): NewEvent | null {
    return null;
  }

  decide(): Promise<Decision> {
    return Promise.resolve({ ok: false, failure: modelMissing() });
  }
}
