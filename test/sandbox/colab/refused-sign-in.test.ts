import { describe, expect, it } from 'vitest';
import { checkColab } from '../../../src/cli/checks/colab-check.js';
import type { ToolCall } from '../../support/scripted-colab.js';
import { ScriptedColab } from '../../support/scripted-colab.js';
import { connect } from './connected.js';

const LOGIN =
  'gcloud auth application-default login --scopes=openid,https://www.googleapis.com/auth/cloud-platform,' +
  'https://www.googleapis.com/auth/userinfo.email,https://www.googleapis.com/auth/colaboratory';

/** Google's error body. */
function refusal(reason: string | undefined, message: string, consumer?: string) {
  const metadata = { service: 'colaboratory.googleapis.com', ...(consumer && { consumer }) };
  const type = 'type.googleapis.com/google.rpc.ErrorInfo';
  const details = reason === undefined ? [] : [{ '@type': type, reason, metadata }];
  return { error: { code: 403, message, status: 'PERMISSION_DENIED', details } };
}

const situations: [string, object, string][] = [
  [
    'the API is off in a project',
    refusal(
      'SERVICE_DISABLED',
      'Colab API has not been used in project 123 before.',
      'projects/123',
    ),
    'gcloud services enable colaboratory.googleapis.com --project=123',
  ],
  [
    'the API is off, and only the text says where',
    refusal(
      undefined,
      'Colab API has not been used in project my-project-7 before or it is disabled.',
    ),
    'gcloud services enable colaboratory.googleapis.com --project=my-project-7',
  ],
  [
    'no quota project is set',
    refusal(
      'SERVICE_DISABLED',
      'The colaboratory.googleapis.com API requires a quota project, which is not set by default.',
      'projects/764086051850',
    ),
    'gcloud auth application-default set-quota-project PROJECT',
  ],
  [
    "no quota project is set, so that gcloud's own was asked",
    refusal('SERVICE_DISABLED', 'It is disabled.', 'projects/764086051850'),
    'gcloud auth application-default set-quota-project PROJECT',
  ],
  [
    "the project's quota may not be used",
    refusal(
      'USER_PROJECT_DENIED',
      'Caller does not have required permission.',
      'projects/my-project',
    ),
    'gcloud projects add-iam-policy-binding my-project --member=user:YOUR_ADDRESS --role=roles/serviceusage.serviceUsageConsumer',
  ],
  [
    'the token lacks the scope',
    refusal('ACCESS_TOKEN_SCOPE_INSUFFICIENT', 'Request had insufficient authentication scopes.'),
    LOGIN,
  ],
  [
    'the OAuth client is bound to another program',
    refusal('UNKNOWN_CLIENT_AGENT', 'The client agent is unknown.'),
    LOGIN,
  ],
  [
    'the account is not admitted',
    refusal(undefined, 'The caller is not on the allowlist.'),
    'colaboratory-team@google.com',
  ],
  ['no reason is given', refusal(undefined, 'The caller does not have permission'), LOGIN],
];

/** The shapes in which a refusal can come. */
const shapes: [string, (body: object) => (call: ToolCall) => void][] = [
  [
    'an HTTP status',
    (body) => (call) => {
      call.http(403, body);
    },
  ],
  [
    "a tool's error",
    (body) => (call) => {
      call.toolError(JSON.stringify(body));
    },
  ],
];

describe.each(shapes)('refused by %s', (_shape, answer) => {
  it.each(situations)('since %s, names the command that mends it', async (_why, body, command) => {
    await using server = await ScriptedColab.start();
    server.answer('list_runtimes', answer(body));
    await expect(connect(server)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      isRetryable: false,
      message: expect.stringContaining(command) as string,
    });
    expect(server.callsOf('list_runtimes')).toHaveLength(1);

    server.answer('get_subscription', answer(body));
    const env = { COLAB_MCP_URL: server.url, COLAB_ACCESS_TOKEN: 'token-123456' };
    const { signal } = new AbortController();
    const check = await checkColab({ env, signal });
    expect(check.state).toBe('failed');
    expect(`${check.found} ${check.remedy ?? ''}`).toContain(command);
  });
});

describe('doctor', () => {
  it('is not content with a server that connects and lists tools to anybody', async () => {
    await using server = await ScriptedColab.start();
    server.answer('get_subscription', (call) => {
      call.toolError('Request is missing required authentication credential.');
    });
    const env = { COLAB_MCP_URL: server.url, COLAB_ACCESS_TOKEN: 'token-123456' };
    const check = await checkColab({ env, signal: new AbortController().signal });
    expect(check).toMatchObject({ state: 'failed' });
    expect(server.callsOf('get_subscription')).toHaveLength(1);
  });

  it('sends the quota project along, and says which subscription it found', async () => {
    await using server = await ScriptedColab.start();
    server.answer('get_subscription', (call) => {
      call.result({ name: 'subscription', tier: 'SUBSCRIPTION_TIER_FREE' });
    });
    const env = {
      COLAB_MCP_URL: server.url,
      COLAB_ACCESS_TOKEN: 'token-123456',
      GOOGLE_CLOUD_QUOTA_PROJECT: 'mine',
    };
    const check = await checkColab({ env, signal: new AbortController().signal });
    expect(check).toMatchObject({ state: 'ok' });
    expect(check.found).toContain('SUBSCRIPTION_TIER_FREE');
    expect(server.calls[0]?.headers['x-goog-user-project']).toBe('mine');
  });

  it('without credentials names the command that makes some', async () => {
    const env = { HOME: '/nowhere', CLOUDSDK_CONFIG: '/nowhere' };
    const check = await checkColab({ env, signal: new AbortController().signal });
    expect(check).toMatchObject({ state: 'skipped' });
    expect(check.remedy).toContain(LOGIN);
  });
});
