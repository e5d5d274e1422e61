import { testGitProvider } from '../../../test/conformance/git-provider.ts';
import { forgejoLimit, startForgejo } from '../../../test/support/git-providers/forgejo.ts';

testGitProvider({
  provider: 'forgejo',
  start: startForgejo,
  path: '/code',
  apis: ['/code/api/v1/'],
  fullName: (name) => name,
  limit: forgejoLimit,
  knowsUntil: true,
  knowsExpired: false,
  knowsStars: true,
  hasIssues: true,
  scope: /^write:issue$/,
});
