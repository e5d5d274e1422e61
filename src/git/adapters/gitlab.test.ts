import { testGitProvider } from '../../../test/conformance/git-provider.ts';
import { gitlabLimit, startGitlab } from '../../../test/support/git-providers/gitlab.ts';

testGitProvider({
  provider: 'gitlab',
  start: startGitlab,
  path: '/forge',
  apis: ['/forge/api/v4/', '/forge/api/graphql'],
  fullName: (name) => name,
  limit: gitlabLimit,
  knowsUntil: true,
  knowsExpired: true,
  knowsStars: true,
  hasIssues: true,
  scope: /^api$/,
});
