import { type Pair, spreadOf, type Spread } from './comparison.js';
import { settledGrowthOf } from './growth.js';
import { type Comparison, comparedOf, type Result } from './request.js';
import { growthOf } from './residence.js';

/** One measured figure with its aim. */
export interface Figure {
  readonly name: string;
  /** What it is compared with. Undefined for a figure of the service alone. */
  readonly control?: string;
  readonly unit: 'ratio' | 'per second' | 'ms' | 'MB' | 'MB per minute' | '%';
  /** The median of the rounds. */
  readonly value: number;
  readonly min: number;
  readonly max: number;
  /** Undefined if the figure is only reported. */
  readonly aim?: number;
  /** Whether the aim is the highest allowed value. Otherwise it is the lowest. */
  readonly isAtMost: boolean;
  /** Medians of both sides, for a ratio of them. */
  readonly perSecond?: Pair<number>;
  readonly isCharted: boolean;
}

/** The figures of a measurement. */
export function figuresOf({ comparisons, residentMb, residentAimMb, growths = [], residences = [] }: Result): Figure[] {
  return [
    ...comparisons.flatMap(figuresOfComparison),
    ...growths.map((growth) => {
      return alone(growth.name, 'MB', settledGrowthOf(growth).grownMb, { aim: growth.aimMb, isAtMost: true });
    }),
    ...residences.flatMap((residence) => {
      const { highestMb, slopeMbPerMinute } = growthOf(residence);
      const { name, highestAimMb, slopeAimMbPerMinute } = residence;
      return [
        alone(`${name}, highest`, 'MB', highestMb, { aim: highestAimMb, isAtMost: true }),
        alone(`${name}, slope`, 'MB per minute', slopeMbPerMinute, { aim: slopeAimMbPerMinute, isAtMost: true }),
      ];
    }),
    ...(residentMb === undefined
      ? []
      : [
          alone('Resident memory under these loads, highest', 'MB', residentMb, { aim: residentAimMb, isAtMost: true }),
        ]),
  ];
}

/** Undefined without an aim. */
export function isReached({ value, aim, isAtMost }: Figure): boolean | undefined {
  if (aim === undefined) return undefined;
  return isAtMost ? value <= aim : value >= aim;
}

/** A figure that is compared with no control. */
export function alone(
  name: string,
  unit: Figure['unit'],
  measured: number | Spread,
  { aim, isAtMost }: { readonly aim?: number | undefined; readonly isAtMost: boolean },
): Figure {
  const { median: value, min, max } = typeof measured === 'number' ? spreadOf([measured]) : measured;
  return { name, unit, value, min, max, ...(aim !== undefined && { aim }), isAtMost, isCharted: false };
}

function figuresOfComparison(comparison: Comparison): Figure[] {
  const { name, control, compares = 'perSecond', aim, perSecondAim, p99AimMs, pairs, isCharted = true } = comparison;
  const { median: value, min, max } = comparedOf(comparison);
  const middle = (side: keyof Pair<unknown>) => spreadOf(pairs.map((pair) => pair[side].perSecond)).median;
  const ours = (figure: 'perSecond' | 'p99Ms') => spreadOf(pairs.map((pair) => pair.ours[figure]));
  return [
    {
      name: compares === 'p50Ms' ? `${name}, median time` : name,
      control,
      unit: compares === 'addedMs' ? 'ms' : 'ratio',
      value,
      min,
      max,
      ...(aim !== undefined && { aim }),
      isAtMost: compares !== 'perSecond',
      ...(compares === 'perSecond' && { perSecond: { ours: middle('ours'), control: middle('control') } }),
      isCharted: isCharted && compares === 'perSecond',
    },
    ...(perSecondAim === undefined
      ? []
      : [alone(name, 'per second', ours('perSecond'), { aim: perSecondAim, isAtMost: false })]),
    ...(p99AimMs === undefined ? [] : [alone(`${name}, p99`, 'ms', ours('p99Ms'), { aim: p99AimMs, isAtMost: true })]),
  ];
}
