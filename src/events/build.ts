import type {
  ActionArgs,
  ActionName,
  AgentState,
  Carried,
  EventSource,
  NewAction,
  NewEvent,
  NewObservation,
  ObservationExtras,
  ObservationName,
} from './event.ts';

/** An action. `more` adds what only some have (`tool_call_metadata`, `llm_metrics`, `timeout`). */
export function action<A extends ActionName>(
  source: EventSource,
  name: A,
  message: string,
  args: ActionArgs[A],
  more: Pick<NewAction, 'tool_call_metadata' | 'llm_metrics' | 'timeout'> = {},
): NewEvent {
  // The mapped union cannot be built from a generic name; the three parameters tie name and args together.
  return { source, message, action: name, args, ...more } as NewAction;
}

/** An observation. `more` adds `cause`, `success` and `tool_call_metadata`. */
export function observation<O extends ObservationName>(
  source: EventSource,
  name: O,
  content: string,
  extras: ObservationExtras[O],
  more: Pick<NewObservation, 'cause' | 'success' | 'tool_call_metadata' | 'llm_metrics'> & {
    message?: string;
  } = {},
): NewEvent {
  const { message = content, ...rest } = more;
  return { source, message, observation: name, content, extras, ...rest } as NewObservation;
}

/** The agent's state as clients follow it; `reason` is shown to the user. */
export function stateChanged(state: AgentState, reason = ''): NewEvent {
  return observation('environment', 'agent_state_changed', '', { agent_state: state, reason });
}

/** The state that a conversation without an agent's word yet is to take, as V0 logs it before it says that it has. */
export function stateAsked(state: AgentState, message: string): NewEvent {
  return action('environment', 'change_agent_state', message, { agent_state: state, thought: '' });
}

/** A command that the user has run in the agent's shell. */
export function userCommand({ command, hidden }: { command: string; hidden: boolean }): NewEvent {
  return action('user', 'run', `Running command: ${command}`, {
    command,
    is_input: false,
    thought: '',
    blocking: false,
    is_static: false,
    cwd: null,
    hidden,
    confirmation_state: 'confirmed',
    security_risk: -1,
  });
}

/** An action of the user as a client gave it, of whatever shape, which a tool of the agent is to be asked for. */
export function givenAction(name: string, args: object): NewEvent {
  // No kind that we have: its name is no name of those, so none of its members is read.
  return { source: 'user', message: '', action: name, args } as unknown as NewEvent;
}

/** As {@link givenAction}, but of a name that stands for the service's or the agent's own word, which this is not. */
export function inertAction(name: string, args: object): NewEvent {
  return { ...givenAction(name, args), inert: true };
}

export function userMessage(
  content: string,
  imageUrls: readonly string[] = [],
  fileUrls: readonly string[] | null = null,
): NewEvent {
  return action('user', 'message', content, {
    content,
    file_urls: fileUrls === null ? null : [...fileUrls],
    image_urls: [...imageUrls],
    wait_for_response: false,
    security_risk: -1,
  });
}

/** `waits`: whether the agent goes on only after an answer. */
export function agentMessage(
  content: string,
  more: Parameters<typeof action>[4] = {},
  waits = true,
): NewEvent {
  return action(
    'agent',
    'message',
    content,
    { content, file_urls: null, image_urls: null, wait_for_response: waits, security_risk: -1 },
    more,
  );
}

/**
 * From here on the events from `first` to `last` are forgotten: a run does not read them, the log keeps them.
 *
 * @param summary what is told in their place besides what is `carried`; null for nothing
 */
export function condensation(
  {
    first,
    last,
    summary,
    carried,
  }: { first: number; last: number; summary: string | null; carried: Carried },
  more: Pick<NewAction, 'llm_metrics' | 'replay'> = {},
): NewEvent {
  return {
    source: 'agent',
    message: summary === null ? `${carried.steps} older steps are left out.` : `Summary: ${summary}`,
    action: 'condensation',
    args: {
      forgotten_event_ids: null,
      forgotten_events_start_id: first,
      forgotten_events_end_id: last,
      summary,
      summary_offset: summary === null ? null : first,
    },
    carried,
    ...more,
  };
}

export function errorObservation(
  content: string,
  errorId: string,
  more: Parameters<typeof observation>[4] = {},
): NewEvent {
  return observation('environment', 'error', content, { error_id: errorId }, more);
}
