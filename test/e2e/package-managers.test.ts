import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { isObservation } from '../../src/events/event.ts';
import { call, say } from '../support/model/answers.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { GREETING, type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { storeModel } from '../support/stored.ts';

/** What stands in sandboxes: the service's own PATH may lead to programs that are not there. */
const PATH_INSIDE = '/usr/local/bin:/usr/bin:/bin';
const PIP = ['python3', '-m', 'pip'] as const;

describe('package managers in a conversation', () => {
  let index: PackageIndex;
  let closed: PackageIndex;
  let model: ModelServer;
  let parley: Parley;
  let conversations = 0;

  before(async () => {
    index = await startPackageIndex('127.0.0.2');
    closed = await startPackageIndex('127.0.0.3');
    model = await startModelServer();
    parley = await startParley({ PARLEY_SANDBOX_ALLOW_HOSTS: index.host });
    await storeModel(parley, model);
  });
  after(async () => {
    await parley.close();
    await model.close();
    await closed[Symbol.asyncDispose]();
    await index[Symbol.asyncDispose]();
  });

  async function run(command: string): Promise<{ code: number; output: string }> {
    const id = `packages-${(conversations += 1)}`;
    model.play([call('execute_bash', { command }), say('done')]);
    await parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: 'go' });
    await parley.until(id, ({ agent_state: state }) => state === 'awaiting_user_input' || state === 'error');
    const answer = (await parley.events(id)).findLast((event) => isObservation(event, 'run'));
    assert.ok(answer, 'the command has an outcome');
    return { code: answer.extras.metadata.exit_code, output: answer.content };
  }

  /** False, and said in the test's output by name, where this machine has no such program to show inside. */
  async function isHere(t: TestContext, program: string, ...args: string[]): Promise<boolean> {
    try {
      await promisify(execFile)(program, args, { env: { PATH: PATH_INSIDE } });
      return true;
    } catch {
      t.diagnostic(`NOT TRIED: this machine has no \`${[program, ...args].join(' ')}\` in ${PATH_INSIDE}`);
      return false;
    }
  }

  it('pip installs a wheel from an allowed index, through the gateway alone', async (t) => {
    if (!(await isHere(t, ...PIP, '--version'))) return;
    const install = `${PIP.join(' ')} install --no-input --index-url ${index.url}/simple/`;
    const past = await run(
      `env -u http_proxy -u HTTP_PROXY -u all_proxy -u ALL_PROXY ${install} --retries 0 greet`,
    );
    assert.notEqual(past.code, 0, past.output);
    assert.deepEqual(index.asked, []);

    const { code, output } = await run(`${install} greet && cd / && python3 -c 'import greet'`);
    assert.equal(code, 0, output);
    assert.match(output, /Successfully installed greet-1\.0\.0/);
    assert.equal(output.trim().split('\n').at(-1), GREETING);
    assert.deepEqual(index.asked, ['/simple/greet/', '/files/greet-1.0.0-py3-none-any.whl']);
  });

  it('npm installs a package from an allowed registry', async (t) => {
    if (!(await isHere(t, 'npm', '--version'))) return;
    const { code, output } = await run(
      `npm install --registry ${index.url}/ greet && node -e 'require("greet")'`,
    );
    assert.equal(code, 0, output);
    assert.equal(output.trim().split('\n').at(-1), GREETING);
    assert.ok(index.asked.includes('/greet-1.0.0.tgz'), index.asked.join());
  });

  /** An index that nobody has allowed: refused, with words that the program shows. */
  async function isRefused(command: string): Promise<void> {
    const { code, output } = await run(command);
    assert.notEqual(code, 0, output);
    const { host } = closed;
    const why = `gateway: 127.0.0.3 is a loopback address: to allow it, add ${host} to PARLEY_SANDBOX_ALLOW_HOSTS`;
    assert.ok(output.includes(why), output);
    assert.deepEqual(closed.asked, []);
  }

  it('pip is told why another index is refused, and what allows it', async (t) => {
    if (!(await isHere(t, ...PIP, '--version'))) return;
    // By https, as indexes are: of an answer by http pip tells its user nothing.
    await isRefused(`${PIP.join(' ')} install --retries 1 --index-url https://${closed.host}/simple/ greet`);
  });

  it('npm is told why another registry is refused, and what allows it', async (t) => {
    if (!(await isHere(t, 'npm', '--version'))) return;
    await isRefused(`npm install --fetch-retries 0 --registry ${closed.url}/ greet`);
  });
});
