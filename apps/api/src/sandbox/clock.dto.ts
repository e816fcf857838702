import type { ClockChange, SandboxClock } from '@banking/domain';
import { Ours, TimeField } from '../http/field.decorator.js';
import { RequiredInstantField } from '../input/body-field.decorator.js';

export class ClockChangeDto implements ClockChange {
  @RequiredInstantField(
    'ours',
    'The new time of the workspace: not before its current time, and at most 100 years ahead.',
    '2060-01-31T09:00:00Z',
  )
  readonly now!: ClockChange['now'];
}

export class SandboxClockDto implements SandboxClock {
  @Ours()
  @TimeField('The time of the workspace. It stands still until the real time is later.', true)
  readonly now!: SandboxClock['now'];
}
