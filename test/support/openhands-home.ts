import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Values that must be nowhere but sealed. */
export const V0_SECRETS = {
  model: 'sk-the-model-key-of-v0',
  github: 'ghp_the_token_of_v0',
  custom: 'the custom secret of v0',
} as const;

const AT = '2025-08-14T12:00:0';

/** One answer of a model as V0 keeps it of its library, with its calls. */
function answer(
  id: string,
  text: string | null,
  calls: readonly [id: string, name: string, input: object][],
) {
  const tool_calls = calls.map(([call, name, input]) => ({
    id: call,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  const message = { role: 'assistant', content: text, tool_calls };
  return { id, object: 'chat.completion', choices: [{ index: 0, finish_reason: 'tool_calls', message }] };
}

function called(response: ReturnType<typeof answer>, n: number) {
  const call = response.choices[0]?.message.tool_calls[n];
  return {
    tool_call_metadata: {
      function_name: call?.function.name,
      tool_call_id: call?.id,
      model_response: response,
      total_calls_in_response: response.choices[0]?.message.tool_calls.length,
    },
  };
}

const two = answer('chatcmpl-1', 'I look around.', [
  ['call-1', 'execute_bash', { command: 'ls' }],
  ['call-2', 'execute_bash', { command: 'echo $KEPT' }],
]);
const done = answer('chatcmpl-2', null, [['call-3', 'finish', { message: 'All is there.' }]]);

const metrics = {
  llm_metrics: {
    accumulated_cost: 0.25,
    max_budget_per_task: null,
    accumulated_token_usage: { model: 'm', prompt_tokens: 1200, completion_tokens: 34 },
    costs: [{ model: 'm', cost: 0.25, timestamp: 1 }],
    response_latencies: [],
    token_usages: [],
  },
};

/** The log of a finished conversation, in V0's shapes (0.53), with a gap in its ids and what ours does not have. */
const EVENTS: Record<string, object> = {
  0: {
    id: 0,
    timestamp: `${AT}0.000001`,
    source: 'environment',
    message: '',
    observation: 'agent_state_changed',
    content: '',
    extras: { agent_state: 'loading', reason: '' },
  },
  1: {
    id: 1,
    timestamp: `${AT}0.000002`,
    source: 'agent',
    message: 'prompt',
    action: 'system',
    args: { content: 'prompt', tools: null, openhands_version: '0.53.0', agent_class: 'CodeActAgent' },
  },
  2: {
    id: 2,
    timestamp: `${AT}1.000000`,
    source: 'user',
    message: 'Look around, please',
    action: 'message',
    args: { content: 'Look around, please', file_urls: null, image_urls: [], wait_for_response: false },
  },
  4: {
    id: 4,
    timestamp: `${AT}1.000001`,
    source: 'user',
    message: 'Retrieving content',
    action: 'recall',
    args: { recall_type: 'workspace_context', query: 'Look around, please', thought: '' },
  },
  5: {
    id: 5,
    timestamp: `${AT}1.000002`,
    source: 'environment',
    message: 'Added workspace context',
    cause: 4,
    observation: 'recall',
    content: 'Added workspace context',
    extras: {
      recall_type: 'workspace_context',
      repo_name: 'o/r',
      repo_branch: 'main',
      date: '2025-08-14',
      working_dir: '/workspace',
    },
  },
  6: {
    id: 6,
    timestamp: `${AT}2.000000`,
    source: 'agent',
    message: 'Running command: ls',
    action: 'run',
    args: { command: 'ls', thought: 'I look around.', blocking: false },
    timeout: 120,
    ...called(two, 0),
    ...metrics,
  },
  7: {
    id: 7,
    timestamp: `${AT}2.500000`,
    source: 'agent',
    message: 'Command `ls` executed with exit code 0.',
    cause: 6,
    observation: 'run',
    content: 'a-file-of-v0',
    extras: { command: 'ls', metadata: { exit_code: 0, working_dir: '/workspace' }, hidden: false },
    success: true,
    ...called(two, 0),
  },
  8: {
    id: 8,
    timestamp: `${AT}3.000000`,
    source: 'agent',
    message: 'Running command',
    action: 'run',
    args: { command: 'echo $KEPT', thought: '' },
    ...called(two, 1),
  },
  9: {
    id: 9,
    timestamp: `${AT}3.500000`,
    source: 'agent',
    message: 'ran',
    cause: 8,
    observation: 'run',
    content: V0_SECRETS.custom,
    extras: { command: 'echo $KEPT', metadata: { exit_code: 0 } },
    ...called(two, 1),
  },
  10: {
    id: 10,
    timestamp: `${AT}4.000000`,
    source: 'agent',
    message: 'I am browsing the URL: http://x',
    action: 'browse',
    args: { url: 'http://x', thought: '' },
  },
  11: {
    id: 11,
    timestamp: `${AT}4.500000`,
    source: 'agent',
    message: 'All done!',
    action: 'finish',
    args: { final_thought: 'All is there.', outputs: {}, thought: '' },
    ...called(done, 0),
  },
  12: {
    id: 12,
    timestamp: `${AT}5.000000`,
    source: 'environment',
    message: '',
    observation: 'agent_state_changed',
    content: '',
    extras: { agent_state: 'finished', reason: '' },
  },
};

const METADATA = {
  user_id: null,
  selected_repository: null,
  selected_branch: null,
  git_provider: null,
  title: 'Looking around',
  trigger: 'gui',
  created_at: '2025-08-14T12:00:00.205890+00:00',
  last_updated_at: '2025-08-14T12:00:05.000000+00:00',
  llm_model: 'openai/v0',
  accumulated_cost: 0.25,
};

export const FINISHED_ID = '4dd0d53a63d544f3a265fbf1191f09d2';
export const DAMAGED_ID = 'a1b2c3d4e5f60718293a4b5c6d7e8f90';

/** Writes what V0 kept in `~/.openhands`, some of it damaged. */
export async function writeOpenHandsHome(directory: string, llmBaseUrl: string): Promise<void> {
  const write = async (path: string, value: unknown): Promise<void> => {
    await mkdir(join(directory, path, '..'), { recursive: true });
    await writeFile(join(directory, path), typeof value === 'string' ? value : JSON.stringify(value));
  };
  await write('settings.json', {
    language: 'en',
    agent: 'CodeActAgent',
    max_iterations: 77,
    security_analyzer: 'invariant',
    confirmation_mode: false,
    llm_model: 'openai/from-v0',
    llm_api_key: V0_SECRETS.model,
    llm_base_url: llmBaseUrl,
    remote_runtime_resource_factor: 3,
    secrets_store: { provider_tokens: {} },
    enable_default_condenser: true,
    sandbox_api_key: '**********',
    search_api_key: '',
    mcp_config: {
      sse_servers: [],
      stdio_servers: [{ name: 'a b', command: 'x', args: [] }],
      shttp_servers: [],
    },
    email: null,
    git_user_name: 'Bob',
    git_user_email: 'bob@example.org',
  });
  await write('secrets.json', {
    provider_tokens: {
      github: { token: V0_SECRETS.github, host: 'github.com', user_id: null },
      sourcehut: { token: 'unknown-provider', host: null, user_id: null },
    },
    custom_secrets: {
      KEPT: { secret: V0_SECRETS.custom, description: 'for a test' },
      SHORT: { secret: 'abc', description: '' },
    },
  });
  await write(`sessions/${FINISHED_ID}/metadata.json`, METADATA);
  for (const [name, event] of Object.entries(EVENTS)) {
    await write(`sessions/${FINISHED_ID}/events/${name}.json`, event);
  }
  await write(`sessions/${FINISHED_ID}/event_cache/0-25.json`, []);
  await write(`sessions/${FINISHED_ID}/agent_state.pkl`, 'not looked at');

  await write(`sessions/${DAMAGED_ID}/metadata.json`, {
    ...METADATA,
    title: null,
    selected_repository: '../x',
  });
  await write(`sessions/${DAMAGED_ID}/events/0.json`, { ...EVENTS[2], id: 0 });
  await write(`sessions/${DAMAGED_ID}/events/1.json`, '{"id": 1, "acti');
  await write(`sessions/${DAMAGED_ID}/events/2.json`, { id: 2, source: 'agent', action: 'run', args: {} });
  await write(`sessions/${DAMAGED_ID}/events/3.json`, {
    ...EVENTS[0],
    id: 3,
    extras: { agent_state: 'running', reason: '' },
  });
  await write('sessions/not an id/metadata.json', METADATA);
}
