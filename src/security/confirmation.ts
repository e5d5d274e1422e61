import { errorObservation, observation } from '../events/build.ts';
import type { ActionEvent, Event, NewAction, NewEvent, ToolCallMetadata } from '../events/event.ts';
import { NOT_EXECUTED } from '../events/not-done.ts';
import type { Rating, SecurityAnalyzer } from './analyzer.ts';

/** The actions that V0 (0.55 and later) asks its user about, and the calls of MCP tools. */
const CONFIRMED = new Set(['run', 'run_ipython', 'browse_interactive', 'edit', 'read', 'call_tool_mcp']);

/** Whether confirmation mode asks the user about an action: about all while nobody rates them, else about HIGH ones. */
export function asksUser(action: NewAction, rating: Rating, analyzer: SecurityAnalyzer | null): boolean {
  return (
    action.source === 'agent' && CONFIRMED.has(action.action) && (analyzer === null || rating.risk === 2)
  );
}

/** Whether it is the question to the user, which the action itself follows. */
export function awaits(event: NewEvent): boolean {
  return (
    'action' in event &&
    'confirmation_state' in event.args &&
    event.args.confirmation_state === 'awaiting_confirmation'
  );
}

/** An action as the question to its user. */
export function awaiting(action: NewAction): NewAction {
  // Those that are asked about have the member; the union does not say which these are.
  return { ...action, args: { ...action.args, confirmation_state: 'awaiting_confirmation' } } as NewAction;
}

/** The same action once more, with what its user decided, as it is carried out or not. */
export function decided(asked: ActionEvent, state: 'confirmed' | 'rejected'): NewAction {
  const { id: _, timestamp: __, llm_metrics: ___, tool_call_metadata, ...action } = asked;
  return {
    ...action,
    ...(tool_call_metadata && { tool_call_metadata: withoutLater(tool_call_metadata) }),
    args: { ...action.args, thought: '', confirmation_state: state },
  } as NewAction;
}

/** The answers of a rejection: to the action, and to what the model wanted to do after it. */
export function rejection(asked: ActionEvent, cause: number, reason: string): NewEvent[] {
  const why = reason === '' ? '' : ` Reason: ${reason}${/[.!?]$/.test(reason) ? '' : '.'}`;
  const said = `Action has been rejected by the user!${why} Waiting for further user input.`;
  const held = asked.tool_call_metadata;
  const later = held?.model_response.later ?? [];
  return [
    observation('agent', 'user_rejected', said, {}, { cause }),
    ...later.map((call) =>
      errorObservation('This was not done: the user rejected the action before it.', NOT_EXECUTED, {
        tool_call_metadata: {
          function_name: call.name,
          tool_call_id: call.id,
          model_response: { id: held?.model_response.id ?? '', content: '', tool_calls: [call] },
          total_calls_in_response: held?.total_calls_in_response ?? later.length,
        },
      }),
    ),
  ];
}

/** The newest event of a step, with the calls of those that are held up. */
export function holding<E extends NewEvent>(event: E, held: readonly NewEvent[]): E {
  const metadata = event.tool_call_metadata;
  const later = held.flatMap(({ tool_call_metadata: one }) => one?.model_response.tool_calls ?? []);
  if (!metadata || later.length === 0) return event;
  const model_response = { ...metadata.model_response, later };
  return { ...event, tool_call_metadata: { ...metadata, model_response } };
}

function withoutLater(metadata: ToolCallMetadata): ToolCallMetadata {
  const { later: _, ...model_response } = metadata.model_response;
  return { ...metadata, model_response };
}

/** An event of the log as its JSON has it. */
export function isActionEvent(event: Event | undefined): event is ActionEvent {
  return event !== undefined && 'action' in event;
}
