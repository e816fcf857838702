import type { ClockChange, SandboxClock } from '@banking/domain';
import { Ours, TimeField } from '../http/field.decorator.js';
import { RequiredInstantField } from '../input/body-field.decorator.js';

export class ClockChangeDto implements ClockChange {
  @RequiredInstantField('ours', 'Which time the workspace is to come to: not before the one it has come to, and at most 100 years ahead.', '2060-01-31T09:00:00Z') // prettier-ignore
  readonly now!: ClockChange['now'];
}

export class SandboxClockDto implements SandboxClock {
  @Ours()
  @TimeField('The time the workspace has come to. It stands there until the real time is later.', true)
  readonly now!: SandboxClock['now'];
}
