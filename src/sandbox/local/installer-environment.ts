const SECRET = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|SESSION/i;
/** Settings of the installers themselves, private indexes and proxies included. */
const OF_INSTALLERS = /^(PIP_|UV_)|_proxy$/i;
/** They would change which modules our own scripts see. */
const OF_PYTHON = /^PYTHON(PATH|HOME|STARTUP|SAFEPATH|NOUSERSITE|USERBASE)$/;

/** Our environment without what looks like a secret that is none of an installer's business. */
export function installerEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const entries = Object.entries(env).filter(
    ([name]) => OF_INSTALLERS.test(name) || !(SECRET.test(name) || OF_PYTHON.test(name)),
  );
  return Object.fromEntries(entries);
}
