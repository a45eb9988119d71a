const TIMEOUT = 15_000;

export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export async function request(path, { signal, method = "GET", body } = {}) {
  // why: every wait ends; a hung server must not leave the page silent
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), TIMEOUT);
  const stop = () => limit.abort();
  signal?.addEventListener("abort", stop);
  try {
    const response = await fetch(path, {
      method,
      body: body && JSON.stringify(body),
      headers: { Accept: "application/geo+json, application/json", ...(body && { "Content-Type": "application/json" }) },
      signal: limit.signal,
      // why: the same address answers differently with each generation
      cache: "no-cache",
    });
    const answer = await response.json().catch((error) => {
      if (response.ok || limit.signal.aborted) throw error;
      return {};
    });
    if (!response.ok) throw new Problem(response.status, said(answer) ?? `The server answered ${response.status}.`);
    return answer;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

const said = (answer) => [answer?.detail, answer?.title].find((text) => typeof text === "string" && text);

// why: an address from data may carry a scheme that runs script when clicked
export function webAddress(text) {
  try {
    const url = new URL(text, location.href);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

const numbers = new Intl.NumberFormat("en");
export const number = (n) => numbers.format(n);
export const plural = (n, word) => `${number(n)} ${word}${n === 1 ? "" : "s"}`;

export function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}
