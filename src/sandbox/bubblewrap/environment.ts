import { ServiceError } from '../../errors.ts';
import type { Secret } from '../../secrets/secret.ts';
import { CA_BUNDLE } from './made-files.ts';

const PROXY_HOST = '127.0.0.1';
const PROXY_PORT = '3128';
const PROXY = `http://${PROXY_HOST}:${PROXY_PORT}`;
const NO_PROXY = 'localhost,127.0.0.1,::1';

const SYSTEM_PATH = '/home/agent/.local/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin';

/**
 * The variables of a sandbox's shell. Nothing of the host's; the way out for each kind of program, as none of them
 * listens to the same variable; then the user's own secrets, which may replace any of it.
 */
export function environment(parts: {
  toolPaths: readonly string[];
  withCa: boolean;
  secrets: Readonly<Record<string, Secret>>;
}): Record<string, string> {
  const java = ['http', 'https'].flatMap((scheme) => [
    `-D${scheme}.proxyHost=${PROXY_HOST}`,
    `-D${scheme}.proxyPort=${PROXY_PORT}`,
  ]);
  const variables: Record<string, string> = {
    HOME: '/home/agent',
    USER: 'agent',
    LOGNAME: 'agent',
    SHELL: '/bin/bash',
    PATH: [...parts.toolPaths, SYSTEM_PATH].join(':'),
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
    DEBIAN_FRONTEND: 'noninteractive',
    // Node listens to the proxy variables only when told so.
    NODE_USE_ENV_PROXY: '1',
    JAVA_TOOL_OPTIONS: java.join(' '),
    // /usr is read-only, so what is installed for "the system" goes into the home.
    NPM_CONFIG_PREFIX: '/home/agent/.local',
    NPM_CONFIG_UPDATE_NOTIFIER: 'false',
    PIP_BREAK_SYSTEM_PACKAGES: '1',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
  };
  for (const name of ['http_proxy', 'https_proxy', 'all_proxy']) {
    // Some read only the one case, some only the other.
    variables[name] = PROXY;
    variables[name.toUpperCase()] = PROXY;
  }
  variables['no_proxy'] = NO_PROXY;
  variables['NO_PROXY'] = NO_PROXY;
  if (parts.withCa) Object.assign(variables, caVariables());
  for (const [name, secret] of Object.entries(parts.secrets)) {
    const value = secret.unwrap();
    if (value.includes('\0')) {
      const detail = `The secret ${name} holds a NUL character, which no variable can: store it without.`;
      throw new ServiceError('sandbox_unavailable', detail);
    }
    variables[name] = value;
  }
  return variables;
}

function caVariables(): Record<string, string> {
  const names = [
    'SSL_CERT_FILE',
    'CURL_CA_BUNDLE',
    'GIT_SSL_CAINFO',
    'NODE_EXTRA_CA_CERTS',
    'NPM_CONFIG_CAFILE',
  ];
  return Object.fromEntries([...names, 'PIP_CERT', 'REQUESTS_CA_BUNDLE'].map((name) => [name, CA_BUNDLE]));
}
