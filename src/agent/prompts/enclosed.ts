/**
 * The text as it may stand in a block of a prompt: it cannot end a block of these names, or begin another. Tags with
 * spaces in them are none, but a model takes them for what they look like.
 */
export function enclosed(text: string, names: readonly string[]): string {
  return text.replaceAll(new RegExp(`<(?=[\\s/]*(?:${names.join('|')})\\b)`, 'gi'), '&lt;');
}
