import { Refusal } from '@banking/domain';
import type { Readiness } from '../health/readiness.js';
import { upstreamFailure } from './upstream-failure.js';

/** However often a supervisor asks us, we ask the upstream this seldom. */
const ASKED_EVERY_MS = 1_000;

/** Ready while the upstream answers our credential. */
export class UpstreamReadiness implements Readiness {
  private asked: { readonly atMs: number; readonly answer: Promise<void> } | undefined;

  /** @param ask asks the upstream something that every credential may, and throws what the client throws */
  constructor(
    private readonly ask: () => Promise<unknown>,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  check(): Promise<void> {
    const atMs = this.nowMs();
    if (this.asked && atMs - this.asked.atMs < ASKED_EVERY_MS) return this.asked.answer;
    const answer = this.ask().then(() => undefined, explain);
    this.asked = { atMs, answer };
    return answer;
  }
}

/** Anybody may ask for this: it names no host, and nothing that was said there. What our own circuit says stays as it is. */
function explain(cause: unknown): never {
  const failure = upstreamFailure(cause, undefined);
  if (!failure) throw cause;
  const { answer, why, isCredential = false } = failure;
  const message = isCredential
    ? 'The upstream refuses our credential, or there is none.'
    : 'The upstream does not answer as it should.';
  throw new Refusal('unavailable', message, { retryAfterSeconds: answer.retryAfterSeconds, cause: new Error(why, { cause }) }); // prettier-ignore
}
