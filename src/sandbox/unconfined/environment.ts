import type { SandboxSpec } from '../sandbox.ts';

/**
 * The variables of an unconfined shell. Nothing of the service's own; the way to the gateway for programs that look
 * for it (nothing keeps others from going without); then the user's secrets, which may replace any of it.
 */
export function environment(
  spec: Pick<SandboxSpec, 'home' | 'env'>,
  ways: { proxy: string; gitConfig: string; caBundle: string | null; toolPaths: readonly string[] },
): Record<string, string> {
  const local = `${spec.home}/.local`;
  const system = '/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin';
  const proxies = ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]);
  const bundles = ['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'NODE_EXTRA_CA_CERTS'];
  bundles.push('NPM_CONFIG_CAFILE', 'PIP_CERT', 'REQUESTS_CA_BUNDLE');
  const { caBundle } = ways;
  return {
    HOME: spec.home,
    SHELL: '/bin/bash',
    PATH: [...ways.toolPaths, `${local}/bin`, system].join(':'),
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
    // In place of the host's, which may name helpers that hold a person's passwords. The agent's own is in its home.
    GIT_CONFIG_SYSTEM: ways.gitConfig,
    DEBIAN_FRONTEND: 'noninteractive',
    NODE_USE_ENV_PROXY: '1',
    NPM_CONFIG_PREFIX: local,
    NPM_CONFIG_UPDATE_NOTIFIER: 'false',
    PIP_BREAK_SYSTEM_PACKAGES: '1',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    ...Object.fromEntries(proxies.map((name) => [name, ways.proxy])),
    no_proxy: 'localhost,127.0.0.1,::1',
    NO_PROXY: 'localhost,127.0.0.1,::1',
    ...(caBundle === null ? {} : Object.fromEntries(bundles.map((name) => [name, caBundle]))),
    ...Object.fromEntries(Object.entries(spec.env).map(([name, secret]) => [name, secret.unwrap()])),
  };
}
