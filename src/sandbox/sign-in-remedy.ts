import type { Failure } from './failure.js';

export const COLAB_SCOPE = 'https://www.googleapis.com/auth/colaboratory';

/** Leaves Application Default Credentials that Colab takes. */
export const LOGIN_COMMAND =
  'gcloud auth application-default login --scopes=openid,https://www.googleapis.com/auth/cloud-platform,' +
  `https://www.googleapis.com/auth/userinfo.email,${COLAB_SCOPE}`;
const TOKEN_COMMAND =
  'export COLAB_ACCESS_TOKEN="$(gcloud auth application-default print-access-token)"';
/** Who admits accounts to the Colab API while it is in beta (Google's reference pages of 2026). */
const ADMISSION = 'colaboratory-team@google.com';
/** Projects of gcloud's own sign-in; that one of them is refused means that no project of the user's was named. */
const GCLOUD_PROJECTS: ReadonlySet<string> = new Set(['764086051850', '32555940559']);

/** What to do where the server does not know who is asking. */
export function signedOutRemedy(url: string): string {
  if (URL.canParse(url) && !new URL(url).hostname.endsWith('.googleapis.com')) {
    return 'Set COLAB_ACCESS_TOKEN to the token that this server printed when it started.';
  }
  return `Sign in: \`${LOGIN_COMMAND}\`. If you use COLAB_ACCESS_TOKEN, renew it then: \`${TOKEN_COMMAND}\`.`;
}

/** What to do where the server knows who is asking and refuses: the command that mends this very refusal. */
export function permissionRemedy(failure: Failure): string {
  const says = `${failure.reason ?? ''} ${failure.text}`;
  const consumer = projectOf(failure);
  const project = consumer ?? 'PROJECT';
  if (/requires a quota project|quota project .*not set/i.test(says) || isGclouds(consumer)) {
    return (
      'Name a project of yours in which the API is on: `gcloud auth application-default set-quota-project PROJECT`, ' +
      'or `export GOOGLE_CLOUD_QUOTA_PROJECT=PROJECT`.'
    );
  }
  if (/USER_PROJECT_DENIED|serviceusage\.services\.use/i.test(says)) {
    return (
      `You may not use the project's quota; its owner can let you: \`gcloud projects add-iam-policy-binding ${project} ` +
      '--member=user:YOUR_ADDRESS --role=roles/serviceusage.serviceUsageConsumer`. Or name a project of yours: ' +
      '`export GOOGLE_CLOUD_QUOTA_PROJECT=PROJECT`.'
    );
  }
  if (/SERVICE_DISABLED|has not been used in project|is disabled/i.test(says)) {
    const flag = consumer === undefined ? '' : ` --project=${consumer}`;
    return `Switch the API on: \`gcloud services enable colaboratory.googleapis.com${flag}\`.`;
  }
  if (/SCOPE_INSUFFICIENT|insufficient.*scope/i.test(says)) {
    return (
      `The token lacks the scope ${COLAB_SCOPE}. Sign in with it: \`${LOGIN_COMMAND}\`. ` +
      `If you use COLAB_ACCESS_TOKEN, renew it then: \`${TOKEN_COMMAND}\`.`
    );
  }
  if (/UNKNOWN_CLIENT_AGENT/.test(says)) {
    return (
      `The OAuth client of this token is another program's. Sign in with gcloud's: \`${LOGIN_COMMAND}\`, and unset ` +
      'COLAB_ACCESS_TOKEN.'
    );
  }
  if (/allow-?list|white-?list|trusted tester|early access/i.test(says)) {
    return `This account or project is not admitted to the Colab API yet. Ask ${ADMISSION} for it, or use --sandbox local.`;
  }
  return (
    'See that the API is on (`gcloud services enable colaboratory.googleapis.com`) and that you are signed in with its ' +
    `scope (\`${LOGIN_COMMAND}\`). An account that is not admitted to it yet can ask ${ADMISSION}.`
  );
}

function isGclouds(project: string | undefined): boolean {
  return project !== undefined && GCLOUD_PROJECTS.has(project);
}

/** The project that was refused, as the error's metadata or its text names it. */
function projectOf({ consumer, text }: Failure): string | undefined {
  const named =
    /^projects\/([\w.:-]+)$/.exec(consumer ?? '') ?? /\bproject ([\w.:-]*\w)/.exec(text);
  const project = named?.[1];
  return project !== undefined && /\d|-/.test(project) ? project : undefined;
}
