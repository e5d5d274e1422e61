import { testGitProvider } from '../../../test/conformance/git-provider.ts';
import { azureLimit, startAzureDevops } from '../../../test/support/git-providers/azure-devops.ts';

testGitProvider({
  provider: 'azure_devops',
  start: startAzureDevops,
  path: '/contoso',
  apis: ['/contoso/'],
  fullName: (name) => `contoso/${name}`,
  assigned: 'ann/notes',
  limit: azureLimit,
  knowsUntil: true,
  knowsExpired: true,
  knowsStars: false,
  hasIssues: true,
  scope: null,
});
