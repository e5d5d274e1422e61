import type { Config } from '../config.ts';
import { guardedFetch } from '../egress/guarded-fetch.ts';
import { lightFetch } from '../egress/light-fetch.ts';
import { guardedPlainFetch } from '../egress/plain-fetch.ts';
import { servicePolicy } from '../egress/policy.ts';

/** For MCP servers: a call may take an hour, and a stream of events may be silent for as long as it likes. */
const PATIENT_FETCH = { headersTimeoutMs: 3_660_000, bodyTimeoutMs: 0 };

/** How the service itself calls out. */
export type Outgoing = ReturnType<typeof outgoing>;

/** @param privateAllowed whether users may have it call this machine and its network */
export function outgoing(
  { allowPrivateHosts }: Pick<Config, 'allowPrivateHosts'>,
  privateAllowed: () => boolean,
  fetchBy: typeof guardedFetch = guardedFetch,
  plainFetchBy: typeof guardedPlainFetch = guardedPlainFetch,
) {
  const policy = servicePolicy({ privateAllowed, allowPrivateHosts });
  const fetch = fetchBy(policy);
  const plainFetch = plainFetchBy(policy);
  const fetchForMcp = fetchBy(policy, PATIENT_FETCH);
  // Where the operator says himself where to call, that may be anywhere but at what is never called.
  const fetchForOperator = fetchBy(servicePolicy({ privateAllowed: () => true, allowPrivateHosts }));
  return {
    policy,
    fetch,
    plainFetch,
    fetchForModels: lightFetch(plainFetch, fetch),
    fetchForMcp,
    fetchForOperator,
    close: async (): Promise<void> => {
      await fetch.close();
      await plainFetch.close();
      await fetchForMcp.close();
      await fetchForOperator.close();
    },
  };
}
