import { Authenticator } from '../auth/authenticator.ts';
import { ensureSessionKey } from '../auth/session-key.ts';
import { prepareDataDirectory } from '../data-directory.ts';
import { healthRoutes } from '../http/health.ts';
import { loginRoutes } from '../http/login.ts';
import { createHttpServer } from '../http/server.ts';
import { openVault } from '../secrets/key-file.ts';
import { lockDataDirectory, openStorage } from '../storage/storage.ts';
import type { Build } from './serve.ts';

/** The service without its resources: keys, log-in and health. */
export const build: Build = async (config, log) => {
  prepareDataDirectory(config.dataDir);
  const lock = lockDataDirectory(config.dataDir);
  const storage = await openStorage(config.dataDir);
  const sentinel = {
    get: (name: string) => storage.read.meta.get(name),
    set: (name: string, value: string) => storage.transact(({ meta }) => meta.set(name, value)),
  };
  await openVault({ dataDir: config.dataDir, given: config.secretKey, sentinel });
  const { made, file } = await ensureSessionKey({
    dataDir: config.dataDir,
    given: config.sessionApiKey,
    transact: storage.transact,
  });
  const auth = new Authenticator(storage.read.keys, storage.transact, (error) =>
    log.error({ err: error }, 'the last use of keys was not stored'),
  );
  const server = await createHttpServer({
    auth,
    log,
    rateLimit: config.rateLimit,
    corsOrigins: config.corsOrigins,
  });
  await server.register(loginRoutes(auth));
  await server.register(
    healthRoutes({
      dataDir: config.dataDir,
      sandbox: () => ({
        kind: 'none',
        ok: false,
        reason: 'This build has no sandbox.',
        checks: [],
        limits: { memory: 'none', processes: 'none', cpu: 'none', disk: 'none' },
      }),
      storageWorks: () =>
        storage.transact(({ meta }) => meta.set('last-ready-check', new Date().toISOString())),
    }),
  );
  return {
    newKey: made && { key: made, file },
    listen: () => server.listen({ host: config.host, port: config.port }),
    close: async () => {
      await server.close();
      await auth.close();
      await storage.close();
      lock.release();
    },
  };
};
