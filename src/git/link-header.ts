/** Whether the header Link (RFC 8288) names a next page. */
export function hasNext(link: string | undefined): boolean {
  // Link by link: over the whole of a hostile one, an expression would go back and forth for long.
  return (link ?? '').split(',').some((one) => /;\s*rel="next"/.test(one));
}
