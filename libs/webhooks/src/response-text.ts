/** The begin of a response as text: valid UTF-8 of so many bytes at most, with spaces in place of control characters. */
export function textOf(response: Uint8Array, bytesMax: number): string {
  // A character that is cut at the limit is left out. Other invalid bytes become U+FFFD, which may take more bytes.
  const text = new TextDecoder('utf-8').decode(response.subarray(0, bytesMax), { stream: true });
  return text.replace(/\p{Cc}/gu, ' ');
}
