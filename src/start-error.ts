/** Why the program cannot start or a command cannot be done, for the person who called it: printed without a stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
