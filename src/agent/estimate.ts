import { agentMessage } from '../events/build.ts';
import { isAction, type NewEvent, type Solvability } from '../events/event.ts';
import { userText } from '../model/message.ts';
import type { ModelContext } from './context.ts';
import type { Unit } from './history/history.ts';
import { tokensOfText } from './history/tokens.ts';
import { ESTIMATE_PROMPT, inLanguage } from './prompts/estimate.ts';
import type { RunLog } from './run-log.ts';
import type { Spending } from './spending/spending.ts';
import { issueTold, commentsTold } from './tools/provider/told.ts';
import { cutMiddle } from './tools/text.ts';

/** Milliseconds: the user waits for the work to begin. */
const DEADLINES = { idle: 60_000, total: 180_000 };
/** Tokens, with what some models think before it. */
const LONGEST = 4_000;
/** Characters of the issue with its comments, and of the estimate. */
const MOST_SHOWN = 30_000;
const MOST_KEPT = 4_000;
const MOST_MISSING = 20;
const COMMENTS = { page: 1, perPage: 100 };

/**
 * Before anything is done for an issue: the model's estimate of whether it can be solved as it is written, and what is
 * missing. The agent goes on whatever it says; one that can't be had is none.
 */
export class Estimator {
  readonly #context: ModelContext;
  readonly #spending: Spending;
  #tried = false;

  constructor(context: ModelContext, spending: Spending) {
    this.#context = context;
    this.#spending = spending;
  }

  /** Has the estimate made and stored, when the work on an issue is about to begin and nobody has made it yet. */
  async begin(log: RunLog): Promise<void> {
    const { issue } = this.#context;
    const { units, carried } = log.history;
    // What the user has had done meanwhile begins no work.
    const begins = carried === null && units.length > 0 && units.every(isOfUser);
    if (!issue || !begins || this.#tried) return;
    this.#tried = true;
    const { model, signal, language } = this.#context;
    const content = cutMiddle(await this.#read(issue), MOST_SHOWN);
    const system = `${ESTIMATE_PROMPT}${inLanguage(language)}`;
    const messages = [userText(`<issue>\n${content}\n</issue>`)];
    const asked = await this.#spending.ask(
      { model, system, messages, tools: [], signal, deadlines: DEADLINES },
      { tokens: tokensOfText(system + content), longest: LONGEST },
    );
    if (!asked.ok || asked.step.text.trim() === '') return;
    const { metrics, settled } = this.#spending.say(asked.step);
    await log.append([estimateEvent(asked.step.text, metrics)], settled);
  }

  /** As the provider has it; where it can't be read, the title alone. */
  async #read({ number, title }: NonNullable<ModelContext['issue']>): Promise<string> {
    const { hosted, signal } = this.#context;
    const bare = `#${number}: ${title}`;
    if (!hosted) return bare;
    const [issue, comments] = await Promise.all([
      hosted.provider.issue(hosted.name, number, signal),
      hosted.provider.issueComments(hosted.name, number, COMMENTS, signal),
    ]);
    if (issue.kind !== 'ok') return bare;
    const told = comments.kind === 'ok' ? commentsTold(comments.value, 1) : '';
    return `${issueTold(issue.value, '#')}\n\n${told}`.trim();
  }
}

const HEADING: Readonly<Record<Solvability['verdict'], string>> = {
  yes: 'Estimate: this can be solved as it is written.',
  partly: 'Estimate: a part of this can be solved as it is written.',
  no: 'Estimate: this can not be solved as it is written.',
  unknown: 'Estimate of whether this can be solved as it is written:',
};

function estimateEvent(answer: string, metrics: NonNullable<NewEvent['llm_metrics']>): NewEvent {
  const { verdict, reason, missing } = readEstimate(answer);
  const lacks = missing.length === 0 ? '' : `\n\nMissing:\n${missing.map((line) => `- ${line}`).join('\n')}`;
  const text = `${HEADING[verdict]}${reason === '' ? '' : `\n\n${reason}`}${lacks}`;
  const said = agentMessage(text, { llm_metrics: metrics }, false);
  if (!isAction(said, 'message')) return said;
  return { ...said, args: { ...said.args, solvability: { verdict, missing } } };
}

function isOfUser(unit: Unit): boolean {
  return unit.kind === 'user' || (unit.kind === 'told' && unit.of !== undefined);
}

/** Models put the answer that they are asked for into emphasis, headings and other cases; anything else is kept as it is. */
export function readEstimate(answer: string): Solvability & { reason: string } {
  const lines = answer.trim().slice(0, MOST_KEPT).split('\n');
  const at = lines.findIndex((line) => VERDICT.test(line));
  const verdict = VERDICT.exec(lines[at] ?? '')?.[1]?.toLowerCase() ?? 'unknown';
  const rest = lines.filter((_, n) => n !== at);
  const missing = rest.flatMap((line) => /^\s*[-*•]\s+(\S.*)$/.exec(line)?.[1] ?? []);
  const reason = rest
    .filter((line) => !/^\s*[-*•]\s+\S/.test(line))
    .join('\n')
    .trim();
  return { verdict: verdict as Solvability['verdict'], reason, missing: missing.slice(0, MOST_MISSING) };
}

const VERDICT = /^[\s#*_>]*solvable[\s*_]*:[\s*_]*(yes|partly|no)\b/i;
