import { signWebhook } from '@banking/client/webhooks';
import { hasForbiddenCharacter } from '@banking/domain';
import { boundedFetch } from '@banking/process';

interface HookOptions {
  readonly url: string;
  /** Each signs: `whsec_…`. */
  readonly secrets: readonly string[];
  /** For the whole exchange. Default 5,000. */
  readonly timeoutMs?: number | undefined;
}

interface Question {
  readonly id: string;
  /** RFC 3339. */
  readonly timestamp: string;
  readonly data: object;
}

interface Answer {
  readonly decision: 'approve' | 'hold' | 'reject';
  readonly reason?: string | undefined;
}

const TIMEOUT_MS = 5_000;
const BYTES_MAX = 16_384;
const REASON_MAX = 500;

/** The message that asks, as `type` of the body. */
const QUESTION_TYPE = 'payout.decision';

/**
 * Asks an HTTP service of the operator about payouts, with requests that are signed like webhooks (Standard Webhooks). While it does not
 * answer, one question at a time is sent, and others end at once: payouts that need none do not wait behind those that do.
 */
export class HttpDecisionHook {
  private isAway = false;
  private isProbing = false;

  constructor(private readonly options: HookOptions) {}

  /** The answer; undefined for none in time, for an error status and for an answer in another form. */
  async ask(question: Question, signal?: AbortSignal): Promise<Answer | undefined> {
    if (!this.isAway) return this.send(question, signal);
    if (this.isProbing) return undefined;
    this.isProbing = true;
    try {
      return await this.send(question, signal);
    } finally {
      this.isProbing = false;
    }
  }

  private async send({ id, timestamp, data }: Question, signal: AbortSignal | undefined): Promise<Answer | undefined> {
    const { url, secrets, timeoutMs = TIMEOUT_MS } = this.options;
    const signed = await signWebhook({ type: QUESTION_TYPE, timestamp, data }, secrets, { id, timestamp: new Date() });
    try {
      const request = { method: 'POST', headers: signed.headers, body: signed.body, signal: signal ?? null };
      const response = await boundedFetch(url, { bytesMax: BYTES_MAX, timeoutMs }, request);
      this.isAway = response.status >= 500 || response.status === 429;
      return response.status === 200 ? answerOf(await response.text()) : undefined;
    } catch {
      // No connection, no response in time, a redirect or a response that is too large. A worker that stops says nothing of the hook.
      if (signal?.aborted !== true) this.isAway = true;
      return undefined;
    }
  }
}

/** Undefined for a text in another form. Other members are ignored, so that a hook may say more. */
function answerOf(text: string): Answer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { decision, reason } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  if (decision !== 'approve' && decision !== 'hold' && decision !== 'reject') return undefined;
  if (reason === undefined || reason === null) return { decision };
  return typeof reason === 'string' ? { decision, reason: shownReason(reason) } : undefined;
}

/** What an operator reads: without characters that have no glyph, and of a length that is stored. Undefined if nothing is left. */
function shownReason(reason: string): string | undefined {
  const characters = [...reason.trim()].slice(0, REASON_MAX);
  const shown = characters.map((character) => (hasForbiddenCharacter(character) ? ' ' : character)).join('');
  return shown.trim() || undefined;
}
