import { type Answer, isJson, reasonOf } from './read-answer.js';
import type { Call } from './sending.js';

/** With one of these, a 404 says that the path exists and what is missing behind it. */
const MISSING_RECORD = ['country_unknown', 'corridor_not_found'];

/**
 * Sends a call to the path that another deployment has: that of the present interface, or of the former revision.
 *
 * A 404 that does not name a missing record may mean that the path is unknown, so the other path is tried once. The
 * path that has answered is used from then on.
 */
export class MovedPaths {
  /** By operation. */
  readonly #answering = new Map<string, 'path' | 'formerPath'>();

  async send(call: Call, send: (call: Call) => Promise<Answer>): Promise<Answer> {
    const { operation, path, formerPath } = call;
    if (formerPath === undefined) return send(call);
    const paths = { path, formerPath };
    const sendTo = async (name: keyof typeof paths) => {
      const answer = await send({ ...call, path: paths[name] });
      if (isSuccess(answer)) this.#answering.set(operation, name);
      return answer;
    };

    const known = this.#answering.get(operation);
    const first = await sendTo(known ?? 'path');
    const isPathUnknown = first.response.status === 404 && !MISSING_RECORD.includes(reasonOf(first));
    if (!isPathUnknown || known === 'path') return first;
    const second = await sendTo(known === undefined ? 'formerPath' : 'path');
    return isSuccess(second) || isPassing(second) ? second : first;
  }
}

/** A page of a web server that answers every path is no success. */
const isSuccess = ({ response }: Answer) => response.status === 200 && isJson(response);

/** A failure that says nothing of the path. */
const isPassing = ({ response: { status } }: Answer) => status === 429 || status >= 500;
