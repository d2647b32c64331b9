import type { Check } from './check.js';

const FLOOR = { major: 20, minor: 19 };

export function checkNode(nodeVersion = process.versions.node): Check {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const isNewEnough = major > FLOOR.major || (major === FLOOR.major && minor >= FLOOR.minor);
  const check = { name: 'Node', isRequired: true, found: nodeVersion };
  if (isNewEnough) return { ...check, state: 'ok' };
  const remedy = `Install Node ${FLOOR.major}.${FLOOR.minor} or newer: https://nodejs.org`;
  return { ...check, state: 'failed', remedy };
}
