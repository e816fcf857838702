/** A wish that `banking` itself must refuse. Its message says what to do. */
export class Refused extends Error {
  override readonly name = 'Refused';
}
