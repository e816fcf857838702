import { type OperationName, OPERATIONS } from '@banking/domain';
import type { EnvironmentReader } from '@banking/process';

/** The sign-in that an operation needs. */
export interface StepUp {
  /** Any of these authentication context classes (`acr`). Empty for any class. */
  readonly acrValues: readonly string[];
  /** How long ago the person may have signed in, in seconds. Undefined for any time. */
  readonly maxAgeS?: number | undefined;
}

/** The operations that need more than a valid token. */
export type StepUps = ReadonlyMap<OperationName, StepUp>;

/** What a token says of the sign-in of its person (OpenID Connect Core 1.0, section 2). */
export interface SignIn {
  readonly acr?: string | undefined;
  /** `auth_time`: seconds since 1970. */
  readonly authenticatedAtS?: number | undefined;
}

/** As for the times of tokens: the clock of the issuer may be ahead. */
const CLOCK_TOLERANCE_S = 30;

/** Whether the sign-in is enough. One that says nothing is not. */
export function satisfies({ acrValues, maxAgeS }: StepUp, { acr, authenticatedAtS }: SignIn, nowS: number): boolean {
  if (acrValues.length > 0 && (acr === undefined || !acrValues.includes(acr))) return false;
  if (maxAgeS === undefined) return true;
  if (authenticatedAtS === undefined) return false;
  const ageS = nowS - authenticatedAtS;
  return ageS >= -CLOCK_TOLERANCE_S && ageS <= maxAgeS;
}

/** The challenge for a client that can let the person sign in again (RFC 9470, section 3). */
export function challengeOf({ acrValues, maxAgeS }: StepUp): string {
  return [
    'Bearer error="insufficient_user_authentication"',
    ...(acrValues.length > 0 ? [`acr_values="${acrValues.join(' ')}"`] : []),
    ...(maxAgeS === undefined ? [] : [`max_age="${maxAgeS}"`]),
  ].join(', ');
}

const SYNTAX =
  'Write entries such as "placeOrder,createServiceAccountKey acr=phr,phrh max_age=300", separated by semicolons.';

/** Without a quotation mark, a backslash, a comma and a space, which the challenge and this setting separate values by. */
const ACR = /^[!#-+\--:<-[\]-~]+$/;
const AGE = /^[0-9]{1,9}$/;

/** Reads `STEP_UP`: for each entry, operations and the sign-in that they need. */
export function readStepUps({ text, mistakes }: Pick<EnvironmentReader, 'text' | 'mistakes'>): StepUps {
  const stepUps = new Map<OperationName, StepUp>();
  for (const entry of (text('STEP_UP') ?? '').split(';').filter((part) => part.trim() !== '')) {
    const [operations = '', ...settings] = entry.trim().split(/\s+/);
    const stepUp = stepUpOf(settings);
    if (stepUp === undefined) {
      mistakes.push(`STEP_UP has an entry without a valid acr or max_age. ${SYNTAX}`);
      continue;
    }
    for (const name of operations.split(',')) {
      if (!Object.hasOwn(OPERATIONS, name)) mistakes.push(`STEP_UP names "${name}", which is no operation. ${SYNTAX}`);
      else if (stepUps.has(name as OperationName)) mistakes.push(`STEP_UP names ${name} twice. Keep one entry.`);
      else stepUps.set(name as OperationName, stepUp);
    }
  }
  return stepUps;
}

function stepUpOf(settings: readonly string[]): StepUp | undefined {
  let acrValues: readonly string[] = [];
  let maxAgeS: number | undefined;
  for (const setting of settings) {
    const [, name, value = ''] = /^(acr|max_age)=(.+)$/.exec(setting) ?? [];
    if (name === 'acr' && acrValues.length === 0) {
      acrValues = value.split(',');
      if (!acrValues.every((acr) => ACR.test(acr))) return undefined;
    } else if (name === 'max_age' && maxAgeS === undefined && AGE.test(value)) maxAgeS = Number(value);
    else return undefined;
  }
  return acrValues.length === 0 && maxAgeS === undefined ? undefined : { acrValues, maxAgeS };
}
