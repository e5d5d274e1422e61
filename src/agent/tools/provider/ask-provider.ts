import { z } from 'zod';

import { observation } from '../../../events/build.ts';
import type { ActionEvent } from '../../../events/event.ts';
import { type Answer, GivenUpMidway } from '../../../git/answer.ts';
import type { GitProvider, NewPullRequest } from '../../../git/git-provider.ts';
import { type Bench, type Result, wrong } from '../bench.ts';
import { cutMiddle } from '../text.ts';
import type { HostedRepository, ProviderWrite } from './hosted.ts';
import { INPUTS, type Operation } from './provider-tools.ts';
import { WORDS } from './provider-words.ts';
import { checksTold, commentsTold, issueTold, requestTold, reviewTold } from './told.ts';

const COMMENTS = 100;
const UNKNOWN =
  'Whether it was done is not known, and it was not tried again: look at what is there before you call this again.';

type Call = ActionEvent<'call_tool_mcp'>;
type Input<O extends Operation> = z.output<(typeof INPUTS)[O]>;
type Tools = Pick<Bench, 'hosted' | 'wrote' | 'signal'>;

/** Asks the provider what an action says, about the conversation's repository and no other. */
export async function askProvider(action: Call, operation: Operation, tools: Tools): Promise<Result> {
  const { name } = action.args;
  const { hosted } = tools;
  if (!hosted)
    return wrong(
      `${name} was not called: the conversation has no repository at a provider that can be asked.`,
    );
  const parsed = INPUTS[operation].safeParse(action.args.arguments);
  if (!parsed.success) return wrong(`${name} was not called: ${z.prettifyError(parsed.error)}`);
  const asked = new Asked(action, hosted, tools);
  // The schema is the operation's own.
  switch (operation) {
    case 'createRequest':
      return await asked.createRequest(parsed.data as Input<'createRequest'>);
    case 'readRequest':
      return await asked.readRequest(parsed.data as Input<'readRequest'>);
    case 'readIssue':
      return await asked.readIssue(parsed.data as Input<'readIssue'>);
    case 'readChecks':
      return await asked.readChecks(parsed.data);
    default:
      return await asked.comment(operation, parsed.data as Input<'commentOnIssue'>);
  }
}

class Asked {
  readonly #action: Call;
  readonly #hosted: HostedRepository;
  readonly #provider: GitProvider;
  readonly #tools: Tools;

  constructor(action: Call, hosted: HostedRepository, tools: Tools) {
    this.#action = action;
    this.#hosted = hosted;
    this.#provider = hosted.provider;
    this.#tools = tools;
  }

  async readIssue({ number, page }: Input<'readIssue'>): Promise<Result> {
    const { name } = this.#hosted;
    const { signal } = this.#tools;
    const [issue, comments] = await Promise.all([
      this.#provider.issue(name, number, signal),
      this.#provider.issueComments(name, number, { page, perPage: COMMENTS }, signal),
    ]);
    if (issue.kind !== 'ok') return wrong(issue.message);
    return this.#told([issueTold(issue.value, '#'), part(comments, (found) => commentsTold(found, page))]);
  }

  async readRequest({ number, page }: Input<'readRequest'>): Promise<Result> {
    const { name } = this.#hosted;
    const { signal } = this.#tools;
    const [request, comments, review] = await Promise.all([
      this.#provider.pullRequest(name, number, signal),
      this.#provider.pullRequestComments(name, number, { page, perPage: COMMENTS }, signal),
      this.#provider.reviewComments(name, number, signal),
    ]);
    if (request.kind !== 'ok') return wrong(request.message);
    return this.#told([
      requestTold(request.value, this.#mark),
      part(comments, (found) => commentsTold(found, page)),
      part(review, reviewTold),
    ]);
  }

  async readChecks({ ref = this.#hosted.branch }: Input<'readChecks'>): Promise<Result> {
    const checks = await this.#provider.checks(this.#hosted.name, ref, this.#tools.signal);
    return checks.kind === 'ok' ? this.#told([checksTold(ref, checks.value)]) : wrong(checks.message);
  }

  async comment(
    operation: 'commentOnIssue' | 'commentOnRequest',
    { number, body }: Input<'commentOnIssue'>,
  ): Promise<Result> {
    const { name } = this.#hosted;
    const { signal } = this.#tools;
    const provider = this.#provider;
    const mark = operation === 'commentOnIssue' ? '#' : this.#mark;
    return await this.#write({ mark, number }, async () => {
      const added = await (operation === 'commentOnIssue'
        ? provider.addIssueComment(name, number, body, signal)
        : provider.addPullRequestComment(name, number, body, signal));
      return added.kind === 'ok' ? { ...added, value: { number, url: added.value.url } } : added;
    });
  }

  async createRequest(input: Input<'createRequest'>): Promise<Result> {
    const { name } = this.#hosted;
    const { signal } = this.#tools;
    const base = input.target_branch ?? (await this.#defaultBranch());
    if (typeof base !== 'string') return base;
    const request: NewPullRequest = {
      title: input.title,
      body: input.body,
      head: input.source_branch,
      base,
      isDraft: input.draft,
    };
    return await this.#write({ mark: this.#mark, number: null }, () =>
      this.#provider.openPullRequest(name, request, signal),
    );
  }

  get #mark(): string {
    return WORDS[this.#provider.provider].mark;
  }

  async #defaultBranch(): Promise<string | Result> {
    const found = await this.#provider.repository(this.#hosted.name, this.#tools.signal);
    if (found.kind !== 'ok') return wrong(found.message);
    return (
      found.value.defaultBranch ??
      wrong(`${this.#hosted.name} has no default branch yet: name the target_branch.`)
    );
  }

  /** Done once, and told to the audit log whatever comes of it. */
  async #write(
    about: { mark: string; number: number | null },
    ask: () => Promise<Answer<{ number: number; url: string | null }>>,
  ): Promise<Result> {
    const tell = (
      outcome: ProviderWrite['outcome'],
      number = about.number,
      url: string | null = null,
    ): void =>
      this.#tools.wrote({
        tool: this.#action.args.name,
        repository: this.#hosted.name,
        number,
        url,
        outcome,
      });
    let answer: Awaited<ReturnType<typeof ask>>;
    try {
      answer = await ask();
    } catch (error) {
      if (!this.#tools.signal.aborted) throw error;
      if (!(error instanceof GivenUpMidway)) {
        tell('refused');
        return wrong(
          'The conversation was stopped before the provider was told to do it: nothing was changed.',
        );
      }
      tell('unknown');
      return wrong(`The conversation was stopped while the provider was asked. ${UNKNOWN}`);
    }
    if (answer.kind === 'ok') {
      const { number, url } = answer.value;
      tell('done', number, url);
      return this.#told([`Done: ${about.mark}${number}${url === null ? '' : ` ${url}`}`]);
    }
    tell(answer.mayBeDone ? 'unknown' : 'refused');
    return wrong(answer.mayBeDone ? `${answer.message} ${UNKNOWN}` : answer.message);
  }

  #told(parts: readonly string[]): Result {
    const { name, arguments: args } = this.#action.args;
    return observation('agent', 'mcp', cutMiddle(parts.join('\n\n')), { name, arguments: args });
  }
}

/** What is beside the matter itself may fail by itself. */
function part<T>(answer: Answer<T>, tell: (value: T) => string): string {
  return answer.kind === 'ok' ? tell(answer.value) : `(Not shown: ${answer.message})`;
}
