import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Event, isAction, isObservation } from '../../../src/events/event.ts';
import { leaksIn } from '../../support/leaks.ts';
import { call } from '../../support/model/answers.ts';
import { byTurn } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { type RecordingServer, startRecordingServer } from '../../support/recording-server.ts';
import { storeModel } from '../../support/stored.ts';

const KEY = 'tvly-S3arch-K3y-of-Ann-41c9';
const SEARCH = call('web_search', { query: 'newest node release', max_results: 2, domains: ['nodejs.org'] });

describe('web search', () => {
  let search: RecordingServer;
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    search = await startRecordingServer({
      body: {
        results: [
          { title: 'Node.js', url: 'https://nodejs.org/en', content: 'The newest is 99.' },
          { title: 'Quoting', url: 'https://nodejs.org/x', content: `somebody quotes ${KEY}` },
        ],
      },
    });
    model = await startModelServer(byTurn([SEARCH, call('finish', { message: 'done' })]));
    parley = await startParley({ PARLEY_SEARCH_URL: `${search.url}/` });
    await storeModel(parley, model);
  });
  after(async () => {
    await parley.close();
    await model.close();
    await search.close();
  });

  const run = async (id: string, settings: object): Promise<Event[]> => {
    await parley.ok('PATCH', '/api/settings', settings);
    await parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: 'Search.' });
    await parley.until(id, ({ agent_state }) => agent_state === 'finished');
    return await parley.events(id);
  };
  const offered = (): string => JSON.stringify(model.requests.at(-1)?.body.tools);

  it('is no tool without a key, and a call of it is told so', async () => {
    const events = await run('without', {});
    assert.ok(!offered().includes('web_search'));
    assert.match(JSON.stringify(events), /There is no tool \\"web_search\\"/);
    assert.equal(search.requests.length, 0);
  });

  for (const agent of ['CodeActAgent', 'ReadOnlyAgent']) {
    it(`is a tool of ${agent} when there is a key, which goes to Tavily alone`, async () => {
      const before = search.requests.length;
      const events = await run(`with-${agent}`, { search_api_key: KEY, agent });
      assert.ok(offered().includes('web_search'));
      const asked = search.requests.slice(before);
      assert.deepEqual(
        asked.map(({ path, headers, body }) => [path, headers.authorization, JSON.parse(body)]),
        [
          [
            '/search',
            `Bearer ${KEY}`,
            { query: 'newest node release', max_results: 2, include_domains: ['nodejs.org'] },
          ],
        ],
      );
      const action = events.find((event) => isAction(event, 'call_tool_mcp'));
      const answer = events.find((event) => isObservation(event, 'mcp'));
      assert.equal(action?.args.name, 'web_search');
      assert.equal(answer?.cause, action?.id);
      assert.match(
        answer?.content ?? '',
        /^1\. Node\.js\n   https:\/\/nodejs\.org\/en\n   The newest is 99\.\n\n2\. /,
      );
      assert.match(JSON.stringify(model.requests.at(-1)?.body.messages), /The newest is 99\./);
      const requests = model.requests.map(({ headers, body }) => [headers, body]);
      assert.deepEqual(leaksIn(JSON.stringify([requests, events, parley.output()]), { KEY }), []);
    });
  }

  it('that is refused is told to the agent, which goes on', async () => {
    search.answer({ status: 401, body: { detail: { error: 'Unauthorized' } } });
    const events = await run('refused', {});
    const error = events.find((event) => isObservation(event, 'error'));
    assert.match(error?.content ?? '', /Tavily refused the key/);
  });
});
