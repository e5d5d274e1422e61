import { testGitProvider } from '../../../test/conformance/git-provider.ts';
import { bitbucketLimit, startBitbucket } from '../../../test/support/git-providers/bitbucket.ts';

testGitProvider({
  provider: 'bitbucket',
  start: startBitbucket,
  path: '',
  apis: ['/2.0/'],
  fullName: (name) => name,
  limit: bitbucketLimit,
  knowsUntil: false,
  knowsExpired: true,
  knowsStars: false,
  hasIssues: false,
  scope: /^pullrequest:write$/,
});
