// The client of the API. Every function returns parsed JSON or throws an ApiError whose message can be shown.

// ApiError: status is 0 if the daemon did not answer at all.
export class ApiError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

const unreachable = 'The daemon does not answer. Is it running? `patchbay serve` starts it.';

// send is fetch with our errors: {detail} of the API, or a plain sentence if the answer has no detail.
export async function send(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { cache: 'no-store', ...options });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, unreachable);
  }
  if (!response.ok) throw new ApiError(response.status, await detail(response));
  return response;
}

async function detail(response) {
  const text = await response.text().catch(() => '');
  try {
    const said = JSON.parse(text).detail;
    if (typeof said === 'string' && said) return said;
  } catch {
    // The answer is not from the API, but for example from a proxy.
  }
  if (response.status === 401) return 'The daemon asks for its token. Load this page again and enter it as the password; any user name will do.';
  return `The daemon answered ${response.status} ${response.statusText}`.trim() + '.';
}

async function request(method, path, body, { signal } = {}) {
  const options = { method, signal };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { 'Content-Type': 'application/json' };
  }
  const response = await send(path, options);
  if (response.status === 204) return null;
  try {
    return await response.json();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(response.status, 'The daemon answered something that is not JSON.');
  }
}

export const get = (path, options) => request('GET', path, undefined, options);
export const post = (path, body, options) => request('POST', path, body, options);
export const put = (path, body, options) => request('PUT', path, body, options);
export const patch = (path, body, options) => request('PATCH', path, body, options);
export const del = (path, options) => request('DELETE', path, undefined, options);

// url adds parameters to a path and leaves empty ones out: url('/v1/traces', {plugin, limit: 50}).
export function url(path, parameters) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== '' && value !== false) query.set(key, value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}
