/** A request that a command refuses. The message states the fault and the next step. */
export class Refused extends Error {
  override readonly name = 'Refused';
}
