type Fetch = typeof globalThis.fetch;

/**
 * Sends a request again without `stream_options` when the server refuses that member, and leaves it out from then on.
 * Most servers count tokens in a stream only when asked so; Mistral and Databricks count them anyway, and refuse the
 * question.
 */
export function withoutRefusedUsageOption(fetch: Fetch): Fetch {
  let refused = false;
  return async (input, init) => {
    if (typeof init?.body !== 'string') return await fetch(input, init);
    const { body } = init;
    const sendBare = () => fetch(input, { ...init, body: withoutUsageOption(body) });
    if (refused) return await sendBare();

    const response = await fetch(input, init);
    if (response.status !== 400 && response.status !== 422) return response;
    const text = await response.text();
    refused = /stream_options|include_usage/.test(text);
    if (refused) return await sendBare();
    return new Response(text, { status: response.status, headers: response.headers });
  };
}

function withoutUsageOption(body: string): string {
  const { stream_options: _, ...rest } = JSON.parse(body) as Record<string, unknown>;
  return JSON.stringify(rest);
}
