/**
 * Words that are not used in this repository, and the standard terms to write instead.
 *
 * - `forms`: every form that is refused. Spaces match any separator, and none before a capital letter: `hang up` also
 *   matches `hang-up` and `hangUp`.
 * - `write`: the replacements the message names.
 * - `standard`: phrases of the field that contain a form and stay allowed.
 * - `places: 'strings'`: refused in string and template literals only.
 *
 * Words with a standard use that a pattern cannot tell apart are left to review: found, kept, held, word, meet, line, turns.
 */
export const RETIRED_WORDS = [
  { forms: ['wish', 'wishes', 'wished', 'wishing'], write: ['request', 'input'] },
  { forms: ['desk', 'desks'], write: ['service', 'queue'] },
  { forms: ['lane', 'lanes'], write: ['batcher', 'queue'] },
  { forms: ['patient', 'patients'], write: ['waiting'] },
  { forms: ['sheet', 'sheets'], write: ['writes'], standard: ['style sheet', 'style sheets', 'balance sheet'] },
  { forms: ['room', 'rooms'], write: ['package', 'project', 'module', 'space'] },
  { forms: ['last word', 'last words', 'final word', 'rail word', 'rail words'], write: ['final status', 'status'] },
  { forms: ['hear', 'hears', 'heard', 'hearing'], write: ['receive'] },
  { forms: ['forget', 'forgets', 'forgot', 'forgotten', 'forgetting'], write: ['delete', 'archive', 'omit'] },
  { forms: ['come again', 'comes again', 'came again', 'coming again'], write: ['retry'] },
  { forms: ['stand aside', 'stands aside', 'stood aside', 'step aside', 'steps aside'], write: ['yield'] },
  {
    forms: ['flight', 'flights'],
    write: ['pipeline'],
    standard: ['in flight', 'single flight', 'pre flight'],
  },
  { forms: ['fly', 'flies', 'flew', 'flown', 'flying'], write: ['send'], standard: ['on the fly'] },
  { forms: ['landing', 'landings', 'landed'], write: ['results'], standard: ['landing page'] },
  { forms: ['wall', 'walls'], write: ['constraint', 'safeguard'], standard: ['wall clock', 'wall time'] },
  { forms: ['door', 'doors'], write: ['entry point', 'safeguard'] },
  { forms: ['hole', 'holes'], write: ['gap'], standard: ['hole in an array'] },
  { forms: ['turned away', 'turn away', 'turns away', 'turning away'], write: ['rejected'] },
  {
    forms: ['nobody', 'somebody', 'whoever', 'whomever'],
    write: ['caller', 'client', 'worker', 'operator', 'upstream'],
  },
  { forms: ['believe', 'believes', 'believed', 'believing'], write: ['validate', 'trust'] },
  { forms: ['mend', 'mends', 'mended', 'mending'], write: ['fix'] },
  { forms: ['hang up', 'hangs up', 'hung up', 'hanging up', 'hangup'], write: ['client disconnect'] },
  { forms: ['time left'], write: ['request deadline'] },
  { forms: ['loop watch'], write: ['event-loop monitor'] },
  { forms: ['a bug'], write: ['unhandled error'], places: 'strings' },
];

/** Fixed names with a retired word: an operation id and the columns and triggers of released migrations do not change. */
export const PUBLISHED_NAMES = [...['forgetRecipient', 'forget_recipient', 'forget-recipient'], ...['forgotten_at']];
