import type { ProviderName } from '../../../contract/providers.ts';

/** How people of one provider speak. */
export interface Words {
  provider: string;
  /** What asks for a branch to be merged, and what stands before its number. */
  request: string;
  short: string;
  mark: string;
  issue: string;
  ci: string;
}

const PULL = { request: 'Pull Request', short: 'PR', mark: '#', issue: 'issue' };
const MERGE = { ...PULL, request: 'Merge Request', short: 'MR', mark: '!' };
const AZURE = { ...PULL, mark: '!', issue: 'work item' };

export const WORDS: Readonly<Record<ProviderName, Words>> = {
  github: { provider: 'GitHub', ...PULL, ci: 'GitHub Actions' },
  gitlab: { provider: 'GitLab', ...MERGE, ci: 'GitLab CI pipelines' },
  bitbucket: { provider: 'Bitbucket', ...PULL, ci: 'Bitbucket Pipelines' },
  azure_devops: { provider: 'Azure DevOps', ...AZURE, ci: 'Azure Pipelines' },
  forgejo: { provider: 'Forgejo', ...PULL, ci: 'Forgejo Actions' },
  enterprise_sso: { provider: 'the git provider', ...PULL, ci: 'the CI system' },
};
