import type { GitProvider } from '../../../git/git-provider.ts';

/** The conversation's repository at its git provider: all that the tools of the provider reach. */
export interface HostedRepository {
  provider: GitProvider;
  /** `owner/name`. */
  name: string;
  /** The branch that was checked out when the conversation began. */
  branch: string;
  /** Whether there is a token: without one a provider takes nothing. */
  mayWrite: boolean;
}

/** Something that an agent had a provider do, for the audit log. */
export interface ProviderWrite {
  /** The name of the tool. */
  tool: string;
  repository: string;
  /** Of the issue or request, where one was named or made. */
  number: number | null;
  /** Where it can be seen. */
  url: string | null;
  /** `refused`: nothing was changed. `unknown`: it was sent, and no answer says what became of it. */
  outcome: 'done' | 'refused' | 'unknown';
}
