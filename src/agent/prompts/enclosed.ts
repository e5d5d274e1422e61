/** The text as it may stand in a block of a prompt: it cannot end a block of these names, or begin another. */
export function enclosed(text: string, names: readonly string[]): string {
  return text.replaceAll(new RegExp(`<(?=/?(?:${names.join('|')})\\b)`, 'gi'), '&lt;');
}
