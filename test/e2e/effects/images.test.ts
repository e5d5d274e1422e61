import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isObservation } from '../../../src/events/event.ts';
import { selfSigned } from '../../support/certificate.ts';
import { say, status } from '../../support/model/answers.ts';
import type { ModelRequest } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { storeModel } from '../../support/stored.ts';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const DATA = `data:image/png;base64,${PIXEL}`;

/** The images of a request, in their order. */
function imagesIn({ body }: ModelRequest): string[] {
  const parts = body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return parts.flatMap((part: { image_url?: { url: string } }) =>
    part.image_url ? [part.image_url.url] : [],
  );
}

describe('images', () => {
  let directory: string;
  let model: ModelServer;
  let parley: Parley;
  const asked: string[] = [];
  const { key, cert } = selfSigned(['localhost']);
  const pictures = createServer({ key, cert }, ({ url = '' }, response) => {
    asked.push(url);
    if (url === '/cat.png') response.setHeader('content-type', 'image/png').end(Buffer.from(PIXEL, 'base64'));
    else response.writeHead(404).end();
  });
  let address: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'images-'));
    await writeFile(join(directory, 'ca.pem'), cert);
    pictures.listen(0, '127.0.0.1');
    await once(pictures, 'listening');
    address = `https://localhost:${(pictures.address() as AddressInfo).port}`;
    model = await startModelServer();
    parley = await startParley({ NODE_EXTRA_CA_CERTS: join(directory, 'ca.pem') });
    await storeModel(parley, model);
  });
  after(async () => {
    await parley.close();
    await model.close();
    pictures.closeAllConnections();
    pictures.close();
    await rm(directory, { recursive: true });
  });

  const waits = (id: string) => parley.until(id, ({ agent_state }) => agent_state === 'awaiting_user_input');
  const create = async (id: string, image_urls: string[]) => {
    await parley.ok('POST', '/api/conversations', {
      conversation_id: id,
      initial_user_msg: 'Look.',
      image_urls,
    });
    await waits(id);
  };
  const errors = async (id: string): Promise<string[]> =>
    (await parley.events(id)).flatMap((event) => (isObservation(event, 'error') ? [event.content] : []));

  it('reach a model that sees: those in the request, and those at an address', async () => {
    model.play([say('A pixel.'), say('Another.')]);
    await create('sees', [DATA, `${address}/cat.png`]);
    assert.deepEqual(imagesIn(await model.request(0)), [DATA, DATA]);
    assert.deepEqual(asked, ['/cat.png'], 'the service has fetched it');
    await parley.ok('POST', '/api/conversations/sees/message', { message: 'And this?', image_urls: [DATA] });
    assert.deepEqual(imagesIn(await model.request(1)), [DATA, DATA, DATA]);
    await waits('sees');
    assert.deepEqual(await errors('sees'), []);
  });

  it('that a model does not see are left out, and its user is told so once', async () => {
    const first = model.requests.length;
    model.play((request) =>
      imagesIn(request).length > 0
        ? status(
            400,
            {},
            {
              error: {
                message: 'image_url is only supported by certain models.',
                type: 'invalid_request_error',
              },
            },
          )
        : say('I see nothing.'),
    );
    await create('blind', [DATA]);
    await parley.ok('POST', '/api/conversations/blind/message', { message: 'Look again.' });
    await model.until((requests) => requests.length === first + 4);
    await waits('blind');
    const requests = model.requests.slice(first);
    assert.deepEqual(
      requests.map((request) => imagesIn(request).length),
      [1, 0, 1, 0],
    );
    const content = requests[1]?.body.messages.find(({ role }) => role === 'user')?.content;
    assert.match(String(content), /Look\.\n\n\[There is an image here that you cannot be shown\.\]$/);
    const [said, ...more] = await errors('blind');
    assert.match(
      said ?? '',
      /^The model takes no images, .*image_url is only supported by certain models\.$/,
    );
    assert.deepEqual(more, []);
  });

  it('that are not there are left out alone, and the run goes on', async () => {
    const first = model.requests.length;
    model.play([say('One is missing.')]);
    await create('missing', [`${address}/none.png`, DATA]);
    assert.deepEqual(imagesIn(await model.request(first)), [DATA]);
    const [said, ...more] = await errors('missing');
    assert.match(
      said ?? '',
      /^The image at localhost:\d+ was answered with 404\. The model goes on without it\.$/,
    );
    assert.deepEqual(more, []);
  });
});
