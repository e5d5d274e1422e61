import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testGitProvider } from '../../../test/conformance/git-provider.ts';
import { never } from '../../../test/conformance/git-provider-under.ts';
import { askingOf } from '../../../test/support/git/providers/asking.ts';
import { azureLimit, startAzureDevops } from '../../../test/support/git/providers/azure-devops.ts';
import { located } from './azure-devops-place.ts';

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

describe('azure_devops alone', () => {
  it('has its repositories in projects of organisations, of which the host may name one', () => {
    const own = 'https://dev.azure.com/contoso';
    const any = 'https://dev.azure.com';
    const at = (organisation: string, project: string, name: string) => ({ organisation, project, name });
    for (const [base, repository, expected] of [
      [own, 'contoso/web/app', at('contoso', 'web', 'app')],
      [own, 'Contoso/web/app', at('contoso', 'web', 'app')],
      [own, 'web/app', at('contoso', 'web', 'app')],
      [own, 'web/_git/app', at('contoso', 'web', 'app')],
      [own, 'fabrikam/web/app', null],
      [own, 'app', null],
      [own, 'contoso/web/app/more', null],
      [own, 'contoso/../app', null],
      [any, 'contoso/web/app', at('contoso', 'web', 'app')],
      [any, 'contoso/app', at('contoso', 'app', 'app')],
      [any, 'contoso', null],
      ['https://tfs.example/tfs/Default', 'Default/web/app', at('Default', 'web', 'app')],
    ] as const) {
      assert.deepEqual(located(base, repository), expected, `${base} ${repository}`);
    }
  });

  it('has the id of a project in the name of a repository whose project has a space in its own', async () => {
    const repository = (name: string, project: string) => ({
      id: `id-${name.length}`,
      name,
      project: { id: `p-${project.length}`, name: project },
    });
    const { answer } = await askingOf(
      'azure_devops',
      () => ({
        body: { value: [repository('app', 'web'), repository('app', 'My Web'), repository('ä', 'web')] },
      }),
      (of) => of.repositories({ page: 1, perPage: 10, sort: 'pushed', owner: null }, never),
    );
    assert.ok(answer.kind === 'ok');
    assert.deepEqual(
      answer.value.items.map(({ fullName }) => fullName),
      ['at/p-6/app', 'at/web/app', 'at/web/id-1'],
    );
  });

  it('reads a tag where there is no branch of that name', async () => {
    const { answer, asked } = await askingOf(
      'azure_devops',
      ({ query }) =>
        query.get('versionDescriptor.versionType') === 'tag'
          ? { body: { gitObjectType: 'blob', path: '/a.md', content: 'A' } }
          : { status: 404 },
      (of) => of.file('web/app', 'a.md', 'v1', never),
    );
    assert.deepEqual(answer, { kind: 'ok', value: { path: 'a.md', content: 'A' } });
    assert.equal(asked.length, 2);
  });

  it('counts a pipeline by its newest run for the commit', async () => {
    const commit = 'a'.repeat(40);
    const build = (name: string, result: string, sourceVersion: string) => ({
      status: 'completed',
      result,
      sourceVersion,
      definition: { name },
    });
    const { answer } = await askingOf(
      'azure_devops',
      ({ path }) => {
        if (path.endsWith('/statuses')) return { body: { value: [] } };
        if (path.endsWith('/app')) {
          return { body: { id: 'r', name: 'app', project: { id: 'p', name: 'web' } } };
        }
        const value = [
          build('ci', 'succeeded', commit),
          build('ci', 'failed', commit),
          build('other', 'failed', 'b'.repeat(40)),
        ];
        return { body: { value } };
      },
      (of) => of.checks('web/app', commit, never),
    );
    assert.ok(answer.kind === 'ok');
    assert.deepEqual(answer.value, {
      state: 'success',
      checks: [{ name: 'ci', state: 'success', url: null }],
    });
  });

  it('knows no work items of other projects, whatever number is asked for', async () => {
    const item = (project: string) => ({
      id: 3,
      fields: {
        'System.Title': 'A door',
        'System.State': 'Active',
        'System.CreatedBy': { id: 'ann', displayName: 'Ann', uniqueName: 'ann' },
        'System.TeamProject': project,
      },
      _links: { html: { href: 'https://azure.example/3' } },
    });
    const asking = (project: string) =>
      askingOf(
        'azure_devops',
        ({ path }) => {
          if (path.endsWith('/app'))
            return { body: { id: 'r', name: 'app', project: { id: 'p', name: 'Web' } } };
          if (path.endsWith('/comments')) {
            return {
              body: {
                id: 1,
                text: 'Hm',
                createdBy: item('').fields['System.CreatedBy'],
                createdDate: '2026',
              },
            };
          }
          return { body: item(project) };
        },
        (of) => of.addIssueComment('p/app', 3, 'Hm', never),
      );
    assert.equal((await asking('web')).answer.kind, 'ok');
    const other = await asking('payroll');
    assert.equal(other.answer.kind, 'not_found');
    assert.ok(other.asked.every(({ method }) => method === 'GET'));
  });
});
