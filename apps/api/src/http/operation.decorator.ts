import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBearerAuth, ApiExtension, ApiHeader, ApiOperation } from '@nestjs/swagger';
import type { FastifyContextConfig } from 'fastify';
import type { RefusalReason } from '@banking/domain';
import { ACCESS, isRole, type OperationId, suffices } from '../access/matrix.js';
import { deprecationText } from './deprecation.js';
import type { Provenance } from './field.decorator.js';

export interface OperationText {
  readonly summary: string;
  readonly description: string;
  readonly provenance: Provenance;
  /** The parameters of path and header that the published interface shows. */
  readonly statedParameters?: readonly string[];
  /** What the operation refuses beside what its access brings. */
  readonly refusals: readonly RefusalReason[];
  /** Calls that work in the demo world, the first of which fills in "Try it out". */
  readonly examples?: readonly Example[];
  /** The path that replaces this one. */
  readonly successor?: string;
  /** Whether the answer bears an `ETag`, so that asking again with it costs no body. */
  readonly hasETag?: boolean;
  /** Whether the answer is one page of a list, and `Link` leads to the next. */
  readonly isPaged?: boolean;
  /** The media types of the answer, the usual one first, where JSON is not the only one. */
  readonly answersIn?: readonly string[];
  /** Whether it takes a body, and whether that makes something, at most once for an idempotency key. */
  readonly body?: 'changes' | 'creates';
}

/** A call whose answer `npm run examples` records and a test repeats. */
export interface Example {
  /** Names the recorded answer: `apps/api/examples/<operation>/<name>.json`. */
  readonly name: string;
  /** What it shows, in a line. */
  readonly summary: string;
  /** By the names of the parameters. */
  readonly values?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: object;
}

/** Under this key the document carries a {@link Draft} until its answers and examples have been made from it. */
export const DRAFT = 'x-draft';

/** What an operation leaves to be written when the whole document is known. */
export interface Draft {
  readonly operation: OperationId;
  readonly refusals: readonly RefusalReason[];
  readonly examples: readonly Example[];
  readonly hasETag: boolean;
  readonly isPaged: boolean;
  readonly isCreation: boolean;
  readonly statedParameters: readonly string[];
}

const ALWAYS: readonly RefusalReason[] = ['header_repeated', 'request_malformed'];
const SIGNED_IN: readonly RefusalReason[] = ['not_authenticated', 'not_acceptable', 'rate_limited', 'internal_error', 'unavailable']; // prettier-ignore
const IN_A_WORKSPACE: readonly RefusalReason[] = ['workspace_id_required', 'workspace_id_invalid', 'workspace_forbidden']; // prettier-ignore

const PAGED: readonly RefusalReason[] = ['parameter_unknown', 'limit_invalid', 'cursor_invalid'];
const BODY: readonly RefusalReason[] = [
  'body_malformed',
  'field_unknown',
  'payload_too_large',
  'unsupported_media_type',
];
const CREATION: readonly RefusalReason[] = [
  'idempotency_key_invalid',
  'idempotency_in_progress',
  'idempotency_key_reused',
];

/**
 * Says which operation a route is: what the access check reads and what the documentation shows come from the same line, so
 * they cannot differ. A route without it cannot be called.
 */
export function Operation(id: OperationId, text: OperationText): MethodDecorator {
  const access = ACCESS[id];
  const draft: Draft = {
    operation: id,
    refusals: refusalsOf(id, text),
    examples: text.examples ?? [],
    hasETag: text.hasETag ?? false,
    isPaged: text.isPaged ?? false,
    isCreation: text.body === 'creates',
    statedParameters: text.statedParameters ?? [],
  };
  const decorators: MethodDecorator[] = [
    RouteConfig({ operation: id, ...(text.answersIn && { answersIn: text.answersIn }) } satisfies FastifyContextConfig),
    ApiOperation({
      operationId: text.successor === undefined ? id : `${id}Formerly`,
      summary: text.summary,
      description: [
        ...(text.successor === undefined ? [] : [deprecationText(text.successor)]),
        text.description,
        `**Access:** ${accessText(id)}`,
      ].join('\n\n'),
      ...(text.successor === undefined ? {} : { deprecated: true }),
      ...(access === 'public' ? { security: [] } : {}),
    }),
    ApiExtension('x-provenance', text.provenance),
    ApiExtension(DRAFT, draft),
  ];
  if (access !== 'public') decorators.push(ApiBearerAuth());
  if (isRole(access)) decorators.push(WorkspaceHeader());
  if (text.body === 'creates') decorators.push(IdempotencyHeader());
  return applyDecorators(...decorators);
}

const WorkspaceHeader = (): MethodDecorator =>
  ApiHeader({
    name: 'Workspace-ID',
    required: true,
    description: 'The workspace to act in: the id of `edges.workspace` in a role of yours (`GET /apps/{appId}/users`).',
    schema: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  });

const IdempotencyHeader = (): MethodDecorator =>
  ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      'Your name for what you mean to do, such as a UUID: made once, sent with every try of it. A request that comes again with it gets the first answer and makes nothing new, for 30 days. Without it, a request repeated because its answer was lost may be carried out twice.',
    schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
  });

function refusalsOf(id: OperationId, { refusals, body, isPaged }: OperationText): RefusalReason[] {
  const access = ACCESS[id];
  const isAnyRoleEnough = isRole(access) && suffices('member', access);
  return [
    ...ALWAYS,
    ...(access === 'public' ? [] : SIGNED_IN),
    ...(isRole(access) ? IN_A_WORKSPACE : []),
    ...(isRole(access) && !isAnyRoleEnough ? ['role_insufficient' as const] : []),
    ...(isPaged ? PAGED : []),
    ...(body ? BODY : []),
    ...(body === 'creates' ? CREATION : []),
    ...refusals,
  ];
}

function accessText(id: OperationId): string {
  const access = ACCESS[id];
  if (access === 'public') return 'public.';
  if (!isRole(access)) return 'every user with a token.';
  return `role \`${access}\`${access === 'member' ? ' or `admin`' : ''} in the workspace of the \`Workspace-ID\` header.`;
}
