/** Injection token of what the backing needs to serve requests. */
export const READINESS = Symbol('readiness');

export interface Readiness {
  /** @throws Refusal `unavailable` */
  check(): Promise<void>;
}

/** Whether the process has been told to stop: not ready any more, while what is in flight is finished. */
export class Draining {
  begun = false;
}
