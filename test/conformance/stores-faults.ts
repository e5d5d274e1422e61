import type { Storage, Stores } from '../../src/storage/storage.ts';
import type { OpenStores } from './stores.ts';

/**
 * fail: every call throws. forget: nothing is done, and nothing found. repeat: everything is done twice, as by a
 * caller whose first answer was lost. delay: answers come some turns of the event loop later.
 */
export type Fault = 'fail' | 'forget' | 'repeat' | 'delay';

export interface FaultPlace {
  port: keyof Stores;
  methods: readonly string[];
  fault: Fault;
}

type Method = (...args: unknown[]) => Promise<unknown>;

/** The same storage, with some methods of one port broken, in transactions and outside. */
export function withFault(open: OpenStores, place: FaultPlace): OpenStores {
  return async () => {
    const under = await open();
    const healthy = under.storage;
    const storage: Storage = {
      read: faulty(healthy.read, place),
      transact: (work) => healthy.transact((stores) => work(faulty(stores, place))),
      close: () => healthy.close(),
    };
    return { ...under, storage, [Symbol.asyncDispose]: () => under[Symbol.asyncDispose]() };
  };
}

function faulty(stores: Stores, { port, methods, fault }: FaultPlace): Stores {
  const broken = new Proxy(stores[port], {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      // The ports consist of async methods alone.
      const healthy = value.bind(target) as Method;
      return methods.includes(String(name)) ? FAULTS[fault](healthy) : healthy;
    },
  });
  return { ...stores, [port]: broken };
}

const FAULTS: Record<Fault, (healthy: Method) => Method> = {
  fail: () => () => Promise.reject(new Error('injected')),
  forget: () => () => Promise.resolve(undefined),
  repeat:
    (healthy) =>
    async (...args) => {
      await healthy(...args);
      return await healthy(...args);
    },
  delay:
    (healthy) =>
    async (...args) => {
      await new Promise((resolve) => setImmediate(resolve));
      return await healthy(...args);
    },
};
