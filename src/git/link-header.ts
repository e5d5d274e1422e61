/** Whether the header Link (RFC 8288) names a next page. */
export function hasNext(headers: Headers): boolean {
  return /<[^>]*>;[^,]*\brel="next"/.test(headers.get('link') ?? '');
}
