import { testGitProvider } from '../../../test/conformance/git-provider.ts';
import { githubLimit, startGithub } from '../../../test/support/git-providers/github.ts';

testGitProvider({
  provider: 'github',
  start: startGithub,
  path: '',
  apis: ['/api/v3/', '/api/graphql'],
  fullName: (name) => name,
  limit: githubLimit,
  knowsUntil: true,
  knowsExpired: false,
  knowsStars: true,
  hasIssues: true,
  scope: /issues=write/,
});
