import { GoogleAuth } from 'google-auth-library';
import { SandboxError } from '../../errors.js';
import { readFailure } from '../failure.js';
import { COLAB_SCOPE, LOGIN_COMMAND } from '../sign-in-remedy.js';

/** Where the access token of each request comes from. */
export interface SignIn {
  accessToken(): Promise<string>;
  /** Makes the next `accessToken()` a new one; absent where there is none to be had. */
  refresh?(): void;
  /** The project whose quota the credentials name; absent or undefined: none. */
  quotaProject?(): Promise<string | undefined>;
}

export function fixedToken(token: string): SignIn {
  return { accessToken: () => Promise.resolve(token) };
}

/** Application Default Credentials, as `gcloud auth application-default login` leaves them. */
export function applicationDefaultCredentials(): SignIn {
  const find = (): GoogleAuth => new GoogleAuth({ scopes: [COLAB_SCOPE] });
  let auth = find();
  return {
    async accessToken() {
      try {
        const token = await auth.getAccessToken();
        if (typeof token === 'string' && token !== '') return token;
      } catch (cause) {
        throw readFailure(cause).status === 'NETWORK' ? cause : signedOut(cause);
      }
      throw signedOut();
    },
    refresh() {
      // The library keeps a token that it believes in; a new instance asks for another.
      auth = find();
    },
    async quotaProject() {
      try {
        return (await auth.getClient()).quotaProjectId;
      } catch (cause) {
        throw readFailure(cause).status === 'NETWORK' ? cause : signedOut(cause);
      }
    },
  };
}

function signedOut(cause?: unknown): SandboxError {
  return new SandboxError(
    'UNAUTHENTICATED',
    `Signing in to Colab failed: ${hasEnded(cause) ? 'the sign-in has ended' : 'no usable Application Default Credentials'}. ` +
      `Set COLAB_ACCESS_TOKEN, or run \`${LOGIN_COMMAND}\`.`,
    cause === undefined ? {} : { cause },
  );
}

/** Refresh tokens can be taken back, or end by themselves: after a week with an OAuth client that is being tested. */
function hasEnded(cause: unknown): boolean {
  return cause instanceof Error && /invalid_grant|invalid_rapt/.test(cause.message);
}

/** The token where there is one, else Application Default Credentials. */
export function signIn(accessToken = process.env['COLAB_ACCESS_TOKEN']?.trim()): SignIn {
  return accessToken === undefined || accessToken === ''
    ? applicationDefaultCredentials()
    : fixedToken(accessToken);
}
