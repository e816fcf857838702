import { signWebhook } from '@banking/client/webhooks';
import { hasForbiddenCharacter } from '@banking/domain';
import { boundedFetch, fetchFailure, hasRepeatedMember } from '@banking/process';

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

/** Why there is no answer. It has nothing of the body, because operators read it. */
interface NoAnswer {
  readonly failure: string;
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
  /** Why it serves no payout at present. */
  private away: NoAnswer | undefined;
  private isProbing = false;

  constructor(private readonly options: HookOptions) {}

  /** The answer, or why there is none: not in time, an error status, or an answer in another form. */
  async ask(question: Question, signal?: AbortSignal): Promise<Answer | NoAnswer> {
    if (!this.away) return this.send(question, signal);
    if (this.isProbing) return this.away;
    this.isProbing = true;
    try {
      return await this.send(question, signal);
    } finally {
      this.isProbing = false;
    }
  }

  private async send({ id, timestamp, data }: Question, signal: AbortSignal | undefined): Promise<Answer | NoAnswer> {
    const { url, secrets, timeoutMs = TIMEOUT_MS } = this.options;
    const signed = await signWebhook({ type: QUESTION_TYPE, timestamp, data }, secrets, { id, timestamp: new Date() });
    try {
      const request = { method: 'POST', headers: signed.headers, body: signed.body, signal: signal ?? null };
      const response = await boundedFetch(url, { bytesMax: BYTES_MAX, timeoutMs }, { ...request, redirect: 'manual' });
      const { status } = response;
      const failure = status === 200 ? undefined : { failure: statusFailure(status) };
      this.away = status >= 500 || status === 429 || isRedirect(status) ? failure : undefined;
      return failure ?? answerOf(await response.text());
    } catch (error) {
      const failure = { failure: fetchFailure(error) };
      // A worker that stops says nothing of the hook.
      if (signal?.aborted !== true) this.away = failure;
      return failure;
    }
  }
}

const isRedirect = (status: number): boolean => status >= 300 && status < 400;

const statusFailure = (status: number): string =>
  isRedirect(status) ? 'it redirects, which is refused: correct DECISION_URL' : `it answered ${status}`;

/** Members besides are ignored, so that a hook may say more. One that is given twice has two meanings. */
function answerOf(text: string): Answer | NoAnswer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { failure: 'its answer is not JSON' };
  }
  if (hasRepeatedMember(text, value)) return { failure: 'its answer gives a member twice' };
  const { decision, reason } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  if (decision !== 'approve' && decision !== 'hold' && decision !== 'reject') {
    return { failure: 'its answer has no decision approve, hold or reject' };
  }
  if (reason === undefined || reason === null) return { decision };
  return typeof reason === 'string'
    ? { decision, reason: shownReason(reason) }
    : { failure: 'the reason in its answer is not a text' };
}

/** What an operator reads: without characters that have no glyph, and of a length that is stored. Undefined if nothing is left. */
function shownReason(reason: string): string | undefined {
  const characters = [...reason.trim()].slice(0, REASON_MAX);
  const shown = characters.map((character) => (hasForbiddenCharacter(character) ? ' ' : character)).join('');
  return shown.trim() || undefined;
}
