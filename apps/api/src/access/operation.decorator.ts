import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import {
  ApiAcceptedResponse,
  ApiBearerAuth,
  ApiExtension,
  ApiHeader,
  ApiOperation,
  getSchemaPath,
} from '@nestjs/swagger';
import type { FastifyContextConfig } from 'fastify';
import {
  approvable,
  EVENT_WAIT_MAX_S,
  LIMIT_DEFAULT,
  PAGED_RESULTS,
  type RefusalReason,
  ROLE_NAMES,
} from '@banking/domain';
import type { Provenance } from '../http/field.decorator.js';
import { needsRole, type OperationId, ROWS } from './access-check.js';

/** Lines of Markdown that keep their line break: items, table rows, headings, and indented or fenced code. */
const KEEPS_ITS_LINE = /^(?:[-|# {]|```|\d\. )/;

/**
 * Text in Markdown, written in lines of source. An empty line ends a paragraph.
 *
 * Swagger UI shows a line break inside a paragraph, so the lines of a paragraph are joined by spaces.
 */
export const paragraphs = (...lines: readonly string[]): string =>
  lines.reduce((text, line) => {
    if (text === '' || text.endsWith('\n\n')) return `${text}${line}`;
    if (line === '') return `${text}\n\n`;
    return `${text}${KEEPS_ITS_LINE.test(line) ? '\n' : ' '}${line}`;
  }, '');

export interface OperationText {
  readonly summary: string;
  readonly description: string;
  readonly provenance: Provenance;
  /** The parameters of path and header that the published interface shows. */
  readonly statedParameters?: readonly string[];
  /** The path of the interface for the same operation that links name. */
  readonly canonical?: string;
  /** Whether the response has an `ETag`, with which a repeated read needs no body. It is then sent by `CachedResponses`. */
  readonly hasETag?: boolean;
  /** How many rows a page without `limit` usually has. Default: {@link LIMIT_DEFAULT} */
  readonly rowsByDefault?: number;
  /** Whether it has parameters in the query. A page has. Otherwise every parameter is refused. */
  readonly hasQuery?: boolean;
  /** Whether a request may be held until there is something to send. */
  readonly isHeld?: boolean;
  /** Whether it takes the lock of the directory, which all workspaces share. */
  readonly changesDirectory?: boolean;
  /** The media types of the response, the default first, if JSON is not the only one. */
  readonly mediaTypes?: readonly string[];
  /** Those of them that have no pages: each is the whole list. */
  readonly wholeTypes?: readonly string[];
}

/** Under this key the document carries a {@link PendingDocumentation} until its responses and examples are generated from it. */
export const PENDING_DOCUMENTATION = 'x-pending-documentation';

export interface PendingDocumentation {
  readonly operation: OperationId;
  readonly refusals: readonly RefusalReason[];
  readonly hasETag: boolean;
  /** Whether the interface has another path for it, which a `Link` names. */
  readonly hasCanonical: boolean;
  readonly isPaged: boolean;
  readonly isCreation: boolean;
  readonly statedParameters: readonly string[];
}

const ALWAYS: readonly RefusalReason[] = ['header_repeated', 'request_malformed'];
const SIGNED_IN: readonly RefusalReason[] = [
  'not_authenticated',
  'step_up_required',
  'scope_insufficient',
  'not_acceptable',
  'parameter_unknown',
  'rate_limited',
  'internal_error',
  'unavailable',
];
const IN_A_WORKSPACE: readonly RefusalReason[] = [
  'workspace_id_required',
  'workspace_id_invalid',
  'workspace_forbidden',
];

const PAGED: readonly RefusalReason[] = ['limit_invalid', 'cursor_invalid'];
/** Of every method whose body is read, also if the operation has none. */
const READ_BODY: readonly RefusalReason[] = ['body_malformed', 'payload_too_large', 'unsupported_media_type'];
const CREATION: readonly RefusalReason[] = [
  'idempotency_key_invalid',
  'idempotency_in_progress',
  'idempotency_key_reused',
];

/**
 * Declares the operation of a route. The access check and the documentation read the same declaration, so they cannot differ. A route
 * without it cannot be called.
 */
export function Operation(id: OperationId, text: OperationText): MethodDecorator {
  const { access, result } = ROWS[id];
  const isPaged = PAGED_RESULTS.includes(result);
  const hasQuery = text.hasQuery ?? isPaged;
  const isCreation = result === 'created';
  const pending: PendingDocumentation = {
    operation: id,
    refusals: refusalsOf(id, hasQuery),
    hasETag: text.hasETag ?? false,
    hasCanonical: text.canonical !== undefined,
    isPaged,
    isCreation,
    statedParameters: text.statedParameters ?? [],
  };
  const decorators: MethodDecorator[] = [
    RouteConfig({
      operation: id,
      hasQuery,
      ...(isPaged && { pageRows: text.rowsByDefault ?? LIMIT_DEFAULT }),
      ...(text.wholeTypes && { wholeTypes: text.wholeTypes }),
      ...(text.isHeld && { holdMs: EVENT_WAIT_MAX_S * 1_000 }),
      ...(text.changesDirectory && { changesDirectory: true }),
      ...(text.mediaTypes && { mediaTypes: text.mediaTypes }),
      // The other path of an operation has a header of its own.
      ...(text.hasETag && text.canonical === undefined && { isCached: true }),
    } satisfies FastifyContextConfig),
    ApiOperation({
      operationId: text.canonical === undefined ? id : `${id}Formerly`,
      summary: text.summary,
      description: [
        ...(text.canonical === undefined
          ? []
          : [`The same operation as \`GET ${text.canonical}\`, with the same responses.`]),
        text.description,
        `**Access:** ${accessText(id)}`,
      ].join('\n\n'),
      ...(access === 'public' ? { security: [] } : {}),
    }),
    ApiExtension('x-provenance', text.provenance),
    ApiExtension(PENDING_DOCUMENTATION, pending),
  ];
  if (access !== 'public') decorators.push(ApiBearerAuth());
  if (needsRole(access)) decorators.push(WorkspaceHeader());
  if (isCreation) decorators.push(IdempotencyHeader());
  if (approvalGroupOf(id) !== undefined && id !== 'placeOrder') {
    // By its name: the DTOs of approvals depend on this folder.
    const schema = { $ref: getSchemaPath('PendingApprovalDto') };
    decorators.push(ApiAcceptedResponse({ description: 'It waits for approvals.', schema }));
  }
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
      'A key of your choice for one intent, such as a UUID. Send the same key with each retry. ' +
      'For 30 days a retry gets the first response and creates nothing. ' +
      'Without a key, a request that is repeated after a lost response may be carried out twice.',
    schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
  });

/** The group by which rules may require approvals of the operation. */
const approvalGroupOf = (id: OperationId) => approvable(id)?.group;

function refusalsOf(id: OperationId, hasQuery: boolean): RefusalReason[] {
  const { method, access, result, refusals, hasBody } = ROWS[id];
  const isAnyRoleEnough = needsRole(access) && access.length === ROLE_NAMES.length;
  return [
    ...ALWAYS,
    ...(access === 'public' ? [] : SIGNED_IN),
    ...(needsRole(access) ? IN_A_WORKSPACE : []),
    ...(needsRole(access) && !isAnyRoleEnough ? ['role_insufficient' as const] : []),
    ...(hasQuery ? ['parameter_repeated' as const] : []),
    ...(PAGED_RESULTS.includes(result) ? PAGED : []),
    ...(method === 'GET' ? [] : READ_BODY),
    ...(hasBody ? ['field_unknown' as const] : []),
    ...(result === 'created' ? CREATION : []),
    ...(approvalGroupOf(id) === undefined ? [] : ['approval_impossible' as const]),
    ...refusals,
  ];
}

function accessText(id: OperationId): string {
  const { access } = ROWS[id];
  if (access === 'public') return 'public.';
  if (access === 'subject') return 'every person with a token, also one who is no user of the service yet. No key.';
  if (!needsRole(access)) return 'every user with a token.';
  const roles = access.map((role) => `\`${role}\``);
  return `role ${roles.join(' or ')} in the workspace of the \`Workspace-ID\` header.`;
}
