/** A recorded action as the call of a tool that it came from. Whether it is right is for the tool to say. */
export interface RecordedCall {
  name: string;
  input: Record<string, unknown>;
}

type Args = Record<string, unknown>;

/** Seconds: the longest that the shell takes. Recordings of others have longer ones. */
const MAX_TIMEOUT = 3_600;

/** Null for an action that no tool here makes. */
export function callOf(action: string, args: Args, timeout: unknown): RecordedCall | null {
  switch (action) {
    case 'run':
      return call('execute_bash', { ...pick(args, ['command', 'stdin', 'is_input']), ...within(timeout) });
    case 'read':
      return call('str_replace_editor', { command: 'view', ...pick(args, ['path', 'view_range']) });
    case 'edit':
      return call('str_replace_editor', pick(args, EDIT));
    case 'think':
      return call('think', pick(args, ['thought']));
    case 'task_tracking':
      return call('task_tracker', pick(args, ['command', 'task_list']));
    case 'finish':
    // No agent here rejects a task: what was rejected ends, too.
    case 'reject':
      return call('finish', { message: args['final_thought'] ?? '' });
    case 'call_tool_mcp':
      return typeof args['name'] === 'string' ? call(args['name'], recordOf(args['arguments'])) : null;
    default:
      return null;
  }
}

const EDIT = ['command', 'path', 'file_text', 'old_str', 'new_str', 'insert_line'] as const;

function call(name: string, input: Record<string, unknown>): RecordedCall {
  return { name, input };
}

/** Members that are null were not given. */
function pick(args: Args, names: readonly string[]): Args {
  return Object.fromEntries(names.flatMap((name) => (args[name] == null ? [] : [[name, args[name]]])));
}

function recordOf(value: unknown): Args {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function within(timeout: unknown): Args {
  return typeof timeout === 'number' && timeout > 0 ? { timeout: Math.min(timeout, MAX_TIMEOUT) } : {};
}
