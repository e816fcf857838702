interface FetchLimits {
  /** The largest body that is read. */
  readonly bytesMax: number;
  /** For the whole exchange, the body included. */
  readonly timeoutMs: number;
}

/** What a caller may set of a request. A redirect is an error by default. */
type BoundedFetchInit = Pick<RequestInit, 'body' | 'headers' | 'method' | 'redirect' | 'signal'>;

/** A response whose body exceeds the limit. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';

  constructor(readonly bytesMax: number) {
    super(`The response is larger than ${bytesMax} bytes.`);
  }
}

/**
 * `fetch` with a limit on time and on size. Returns a response whose body has been read completely.
 *
 * @throws ResponseTooLargeError; DOMException `TimeoutError`; TypeError if the request fails or is redirected
 */
export async function boundedFetch(
  url: string | URL,
  { bytesMax, timeoutMs }: FetchLimits,
  { signal, ...init }: BoundedFetchInit = {},
): Promise<Response> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, {
    redirect: 'error',
    ...init,
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
  });
  const body = await readBody(response, bytesMax);
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}

/** Why `boundedFetch` has failed, for operators. Never the message of a platform error: it may contain the URL. */
export function fetchFailure(error: unknown): string {
  if (error instanceof ResponseTooLargeError) return `it answered more than ${error.bytesMax} bytes`;
  const { name, cause } = error as Error & { readonly cause?: { readonly code?: string } };
  return name === 'TimeoutError' ? 'it did not answer in time' : (cause?.code ?? name);
}

/** Null where there is none: a status such as 204 allows no body. Stops reading at the limit, which closes the connection. */
async function readBody({ body }: Response, bytesMax: number): Promise<Buffer<ArrayBuffer> | null> {
  if (body === null) return null;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new ResponseTooLargeError(bytesMax);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
