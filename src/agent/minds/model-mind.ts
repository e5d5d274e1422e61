import { isDeepStrictEqual } from 'node:util';

import type { LlmMetrics, NewEvent, ToolCallMetadata } from '../../events/event.ts';
import type { ModelContext } from '../context.ts';
import { Estimator } from '../estimate.ts';
import { FittedModel } from '../condensing/fitted-model.ts';
import { limitReached } from '../spending/limits.ts';
import type { Decision, Mind } from './mind.ts';
import { systemPrompt } from '../prompts/system.ts';
import { type Recorded, recorded, recordedLater } from './record.ts';
import type { RunLog } from '../run-log.ts';
import { Spending } from '../spending/spending.ts';
import { stuck, warning } from '../stuck.ts';
import { Titler } from '../title.ts';
import { toolsOf, toolsShown } from '../tools/toolbox.ts';
import type { Tool } from '../tools/tool.ts';

/** The V0 release whose event shapes these are. */
const V0_VERSION = '0.59.0';

/** All who call the model in one run. */
interface Calls {
  spending: Spending;
  model: FittedModel;
  titler: Titler;
  estimator: Estimator;
}

/** Has a model decide each step, within the limits of steps and budget. */
export class ModelMind implements Mind {
  readonly #context: ModelContext;
  readonly #tools: readonly Tool[];
  #calls: Calls | null = null;

  constructor(context: ModelContext) {
    this.#context = context;
    this.#tools = toolsOf(context);
  }

  introduction(log: RunLog): NewEvent | null {
    const content = systemPrompt(this.#context);
    const tools = toolsShown(this.#tools);
    const { history } = log;
    if (history.system === content && isDeepStrictEqual(history.tools, tools)) return null;
    const { agent } = this.#context;
    return {
      source: 'agent',
      message: content,
      action: 'system',
      args: { content, tools, openhands_version: V0_VERSION, agent_class: agent },
    };
  }

  async decide(log: RunLog, iterations: number): Promise<Decision> {
    const { history } = log;
    const { spending, model, titler, estimator } = (this.#calls ??= this.#callsAfter(history.metrics));
    const limit = limitReached(this.#context, { iterations, cost: spending.cost });
    if (limit) return { ok: false, failure: limit };
    const { verdict } = log.stuck;
    if (verdict === 'stuck') return { ok: false, failure: stuck() };
    if (verdict === 'repeats') await log.append([warning()]);
    await estimator.begin(log);
    const asked = await model.ask(log);
    const notices = log.notices.of(this.#context.model.sight.notices);
    if (notices.length > 0) await log.append(notices);
    if (!asked.ok) return asked;
    const spent = spending.say(asked.step);
    titler.begin(history, asked.step);
    return { ok: true, step: recorded(asked.step, this.#tools, spent) };
  }

  later(held: ToolCallMetadata): Recorded {
    return recordedLater(held, this.#tools);
  }

  async ended(log: RunLog): Promise<void> {
    await this.#calls?.spending.end(log);
  }

  #callsAfter(last: LlmMetrics | null): Calls {
    const spending = new Spending(this.#context, last);
    const model = new FittedModel(this.#context, this.#tools, spending);
    return {
      spending,
      model,
      titler: new Titler(this.#context, spending),
      estimator: new Estimator(this.#context, spending),
    };
  }
}
