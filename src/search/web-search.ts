/** What is looked for on the web. */
export interface SearchQuery {
  query: string;
  maxResults: number;
  /** Only pages of these domains; of all when empty. */
  domains: readonly string[];
}

export interface SearchResult {
  title: string;
  url: string;
  /** What of the page fits the query. */
  content: string;
}

/** Either results, or a sentence for whoever asked. */
export type SearchOutcome = { ok: true; results: readonly SearchResult[] } | { ok: false; problem: string };

/** Searches the web. Never rejects, unless `signal` is aborted. */
export type WebSearch = (query: SearchQuery, signal: AbortSignal) => Promise<SearchOutcome>;
